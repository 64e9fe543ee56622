#include "ingest/json_elements.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace faultline {
namespace {

struct Seen {
  std::string names;  // of the elements, each with its offset
  JsonElementCounts counts;
};

Seen visit(std::string_view document) {
  Seen seen;
  seen.counts = visit_json_elements(
      document, "items",
      [&](const nlohmann::json& element, std::uint64_t offset, std::string_view bytes) {
        EXPECT_EQ(document.substr(offset, bytes.size()), bytes);
        seen.names += element.value("name", "?") + "@" + std::to_string(offset) + " ";
      });
  return seen;
}

TEST(JsonElements, TheMembersOfTheList) {
  const auto seen = visit(R"({"kind": "items", "x": {"items": [{"name": "no"}]},
"items" : [{"name": "a"}, {"name": "b", "items": [{}], "t": "]}\"{"}], "end": 1})");
  EXPECT_EQ(seen.names, "a@63 b@78 ");
  EXPECT_EQ(seen.counts.records, 2U);
  EXPECT_EQ(seen.counts.left_out, 0U);
  EXPECT_FALSE(seen.counts.cut);
}

TEST(JsonElements, ARootWithoutTheListIsOneAndARootListIsTheList) {
  EXPECT_EQ(visit("$ kubectl get pod -o json\n{\"name\": \"a\"}\n{\"name\": \"b\"}").names,
            "a@26 b@40 ");
  EXPECT_EQ(visit("[{\"name\": \"a\"},{\"name\": \"b\"}]").names, "a@1 b@15 ");
  EXPECT_EQ(visit(R"({"items": []})").names, "") << "an empty list is a list";
  EXPECT_EQ(visit(R"({"items": null, "name": "a"})").names, "a@0 ");
}

TEST(JsonElements, WhatIsNoObjectIsLeftOut) {
  const auto seen = visit(R"({"items": [7, "x", {"name": tru}, [{"name": "in"}], {"name": "a"}]})");
  EXPECT_EQ(seen.names, "a@52 ");
  EXPECT_EQ(seen.counts.left_out, 4U);
  std::string large = R"({"items": [{"name": ")";
  large.append(json_element_bytes_max, 'x').append("\"}, {\"name\": \"a\"}]}");
  EXPECT_EQ(visit(large).counts.left_out, 1U);
  EXPECT_EQ(visit(large).counts.records, 1U);
}

TEST(JsonElements, WhatCameBeforeACutIsVisited) {
  const std::string document = R"({"items": [{"name": "a"}, {"name": "b"}]})";
  const std::string a = "a@11 ";
  const std::string b = "b@26 ";
  for (std::size_t size = 1; size < document.size(); ++size) {
    const auto seen = visit(document.substr(0, size));
    EXPECT_TRUE(seen.counts.cut) << size;
    EXPECT_EQ(seen.names, (size >= 24 ? a : "") + (size >= 39 ? b : "")) << size;
  }
  EXPECT_FALSE(visit(document).counts.cut);
  EXPECT_FALSE(visit("").counts.cut);
}

TEST(JsonElements, BracketsWithoutEndTakeTimeButOnce) {
  EXPECT_TRUE(visit("{\"items\": " + std::string(100'000, '[')).counts.cut);
  EXPECT_TRUE(visit(std::string(100'000, '{')).counts.cut);
  EXPECT_EQ(visit("[" + std::string(100'000, '"') + "]").counts.left_out, 50'000U);
}

}  // namespace
}  // namespace faultline
