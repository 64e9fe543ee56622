#include "ingest/json_records.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace faultline {
namespace {

using Found = std::vector<std::pair<std::string, std::uint64_t>>;

struct Read {
  Found records;
  JsonRecords::Totals totals;
};

Read read(std::string_view text, JsonRecords::Depth depth, std::size_t chunk = 1000,
          std::size_t bytes_max = json_record_bytes_max) {
  Read out;
  JsonRecords records(depth, bytes_max);
  const auto sink = [&](std::string_view record, std::uint64_t offset) {
    out.records.emplace_back(record, offset);
  };
  for (std::size_t at = 0; at < text.size(); at += chunk)
    records.feed(text.substr(at, chunk), at, sink);
  records.finish();
  out.totals = records.totals();
  return out;
}

constexpr auto outermost = JsonRecords::Depth::outermost;
constexpr auto innermost = JsonRecords::Depth::innermost;

TEST(JsonRecords, FindsObjectsALine) {
  EXPECT_EQ(read("{\"a\":1}\n{\"b\":{\"c\":2}}\n", outermost).records,
            (Found{{"{\"a\":1}", 0}, {"{\"b\":{\"c\":2}}", 8}}));
}

TEST(JsonRecords, FindsWhatLiesInsideOfDmesgsObject) {
  const std::string text = "{\n   \"dmesg\": [\n      {\n \"pri\": 6 },{ \"pri\": 4 }\n]\n}\n";
  EXPECT_EQ(read(text, innermost).records,
            (Found{{"{\n \"pri\": 6 }", 22}, {"{ \"pri\": 4 }", 36}}));
}

TEST(JsonRecords, TakesBracesAndQuotesInsideOfTextForText) {
  const std::string text = R"({"a":"}{\"\\"} {"b":"\\"})";
  EXPECT_EQ(read(text, outermost).records,
            (Found{{R"({"a":"}{\"\\"})", 0}, {R"({"b":"\\"})", 15}}));
}

TEST(JsonRecords, GivesTheSameHoweverTheBytesAreCut) {
  const std::string text = "[{\"a\":\"x\\\"y\"},\n {\"b\":[1,2]}]\x1e{\"c\":{}}\n";
  const auto whole = read(text, outermost).records;
  EXPECT_EQ(whole.size(), 3U);
  for (std::size_t chunk = 1; chunk < text.size(); ++chunk)
    EXPECT_EQ(read(text, outermost, chunk).records, whole) << chunk;
}

TEST(JsonRecords, GoesOnAfterALineThatBrokeOff) {
  for (const auto depth : {outermost, innermost}) {
    const auto in_text = read("{\"a\":\"bro\n{\"b\":1}\n", depth);
    EXPECT_EQ(in_text.records, (Found{{"{\"b\":1}", 10}}));
    EXPECT_EQ(in_text.totals.broken, 1U);
    const auto in_object = read("{\"a\":1,\n{\"b\":1}\n", depth);
    EXPECT_EQ(in_object.records, (Found{{"{\"b\":1}", 8}}));
    EXPECT_EQ(in_object.totals.broken, 1U);
  }
  EXPECT_EQ(read("{\"a\":1", outermost).totals.broken, 1U) << "at the end, too";
}

TEST(JsonRecords, LeavesOutWhatIsTooLong) {
  const std::string fits = "{\"a\":\"1234567890\"}";
  EXPECT_EQ(read(fits, outermost, 3, fits.size()).records.size(), 1U);
  const auto beyond = read(fits + "{\"b\":1}", outermost, 3, fits.size() - 1);
  EXPECT_EQ(beyond.records.size(), 1U) << "the short one after it";
  EXPECT_EQ(beyond.totals.too_long, 1U);
  EXPECT_EQ(beyond.totals.broken, 0U);
}

TEST(JsonRecords, DropsAnUnfinishedObjectAtAJump) {
  JsonRecords records(outermost);
  Found found;
  const auto sink = [&](std::string_view record, std::uint64_t offset) {
    found.emplace_back(record, offset);
  };
  records.feed("{\"a\":", 0, sink);
  records.feed("1}{\"b\":2}", 100, sink);
  EXPECT_EQ(found, (Found{{"{\"b\":2}", 102}}));
  EXPECT_EQ(records.totals().broken, 1U);
}

TEST(JsonRecords, PassesOverWhatIsNoObject) {
  EXPECT_TRUE(read("\"x\" 1 ] } } null", outermost).records.empty());
  EXPECT_EQ(read("it's \" not: {\"a\":1}", outermost).records.size(), 1U)
      << "a quote outside of objects opens nothing";
}

}  // namespace
}  // namespace faultline
