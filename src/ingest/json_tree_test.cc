#include "ingest/json_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fixtures/tree_text.h"

namespace faultline {
namespace {

std::string read(const std::string& bytes, const TreeLimits& limits = {}) {
  const auto tree = read_json_tree(bytes, limits);
  return tree ? TreeText::of(tree->root()) : tree.error().message;
}

TEST(JsonTreeTest, EachKindOfValue) {
  EXPECT_EQ(read(R"({"a": [1, -2, 1.5, true, false, null, "x\ty", {}, []], "b": {"a": 2}})"),
            "{'a': [1, -2, 1.500000, True, False, None, 'x\ty', {}, []], 'b': {'a': 2}}");
  EXPECT_EQ(read("18446744073709551615"), "big");
  EXPECT_EQ(read("9223372036854775807"), "9223372036854775807");
}

TEST(JsonTreeTest, ContainersSayWhereTheyBegin) {
  const std::string bytes = R"( {"entries": [ {"a": 1}, {"a": 2}]})";
  const auto tree = read_json_tree(bytes);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->root().offset(), 1U);
  const TreeValue entries = tree->root().find("entries");
  EXPECT_EQ(entries.offset(), bytes.find('['));
  ASSERT_EQ(entries.items().size(), 2U);
  EXPECT_EQ(entries.items()[0].offset(), bytes.find("{\"a\": 1"));
  EXPECT_EQ(entries.items()[1].offset(), bytes.find("{\"a\": 2"));
}

TEST(JsonTreeTest, CutAtAnyByteItIsAnError) {
  const std::string whole = R"({"a": [1, "x\n", {"b": null}], "c": true})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto tree = read_json_tree({part.data(), part.size()});
    ASSERT_FALSE(tree.ok()) << size;
    ASSERT_EQ(tree.error().code, ErrorCode::corrupt);
  }
  EXPECT_NE(read(R"({"a": 1,})").find("at byte 8"), std::string::npos) << read(R"({"a": 1,})");
}

TEST(JsonTreeTest, LimitsHold) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  const auto code = [](const std::string& bytes, const TreeLimits& limits) {
    const auto tree = read_json_tree(bytes, limits);
    return tree ? std::string("read") : std::string(to_text(tree.error().code));
  };
  EXPECT_EQ(code(nested(64), {}), "read");
  EXPECT_EQ(code(nested(65), {}), "exhausted");
  EXPECT_EQ(code(std::string(1'000'000, '['), {}), "exhausted");
  TreeLimits limits;
  limits.text_bytes_max = 3;
  EXPECT_EQ(code(R"("abc")", limits), "read");
  EXPECT_EQ(code(R"("abcd")", limits), "exhausted");
  limits = {};
  limits.tree_bytes_max = 1024;
  EXPECT_EQ(code("[" + std::string(200, '1') + "]", limits), "read") << "a large number";
  std::string many = "[1";
  for (int i = 0; i < 100; ++i) many += ",1";
  EXPECT_EQ(code(many + "]", limits), "exhausted");
  limits = {};
  limits.input_bytes_max = 2;
  EXPECT_EQ(code("[]", limits), "read");
  EXPECT_EQ(code("[] ", limits), "exhausted");
}

}  // namespace
}  // namespace faultline
