#include "ingest/signature_engine.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/rng.h"
#include "catalog/catalog_parser.h"

namespace faultline {
namespace {

constexpr std::string_view cause_text = R"(
[[cause]]
id = "unknown.noise"
class = "unknown"
severity = "info"
remedy = "none"
summary = "s"
explanation = "e"
next_step = "n"
cases = []
)";

std::string signature(const std::string& id, const std::string& pattern,
                      const std::string& captures, const std::string& more = "") {
  return "[[signature]]\nid = \"" + id + "\"\nlayer = \"kernel\"\npattern = '''" + pattern +
         "'''\ncaptures = [" + captures +
         "]\ncause = \"unknown.noise\"\nrole = \"root\"\nsubject = \"gpu\"\nsource = \"t\"\n" +
         more + "\n";
}

const std::string severity_error = "severity = \"error\"";

class Engine : public testing::Test {
 protected:
  void use(const std::string& signatures) {
    CatalogParser parser;
    ASSERT_TRUE(parser.add_causes(cause_text, "c").ok());
    const auto status = parser.add_signatures(signatures, "s");
    ASSERT_TRUE(status.ok()) << status.error().message;
    auto built = parser.finish();
    ASSERT_TRUE(built.ok()) << built.error().message;
    catalog_ = std::move(built).value();
    auto opened = SignatureDatabase::open(catalog_, {Layer::kernel}, {}, counters_);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    database_ = opened.value();
  }

  /// "line:signature name=value ..." for each hit.
  std::vector<std::string> scan(const std::vector<std::string>& lines, std::size_t head_bytes = 0) {
    LineBlock block;
    for (const auto& line : lines) block.add(line, head_bytes, block.entries().size() * 100);
    std::vector<std::string> out;
    for (const Hit& hit : SignatureEngine(database_, counters_).scan(block)) {
      std::string text = std::to_string(hit.line) + ":" + hit.signature->id;
      for (const auto& [name, value] : hit.captures) text += " " + name + "=" + value;
      out.push_back(text);
    }
    return out;
  }

  Counters counters_;
  Catalog catalog_;
  std::shared_ptr<const SignatureDatabase> database_;
};

using Hits = std::vector<std::string>;

TEST_F(Engine, FindsEachLineOnce) {
  use(signature("a", "Xid: (\\d+).*", "\"xid\"", severity_error));
  EXPECT_EQ(scan({"nothing", "Xid: 79 and a long tail", "Xid: 48", "no"}),
            (Hits{"1:a xid=79", "2:a xid=48"}));
}

TEST_F(Engine, CaretAndDollarAreTheBodysEnds) {
  use(signature("a", "^start (\\w+)$", "\"word\"", severity_error));
  EXPECT_EQ(scan({"start one", "x start two", "start three x", "start four"}),
            (Hits{"0:a word=one", "3:a word=four"}));
  EXPECT_EQ(scan({"head start one", "head x start two"}, 5), (Hits{"0:a word=one"}));
}

TEST_F(Engine, NothingIsFoundInTheHead) {
  use(signature("a", "secret", "", severity_error));
  EXPECT_EQ(scan({"secret body"}, 7), Hits{});
  EXPECT_EQ(counters_.get("signature_unconfirmed_total"), 1U);
}

TEST_F(Engine, AMatchOverTwoLinesIsNoHitAndIsCounted) {
  use(signature("a", "open[^)]*close", "", severity_error));
  EXPECT_EQ(scan({"open", "close", "open close"}), Hits{"2:a"});
  EXPECT_EQ(counters_.get("signature_unconfirmed_total"), 1U);
}

TEST_F(Engine, DetailsAndParsersAddToThePrimaryOfTheirLine) {
  use(signature("primary", "Xid 79", "", severity_error) +
      signature("parser", "Xid (\\d+) at (\\S+)", "\"xid\", \"bdf\"",
                "use = \"parser\"\n" + severity_error) +
      signature("detail", "at (\\S+) body (\\w+)", "\"bdf\", \"body\"",
                "use = \"detail\"\n" + severity_error));
  EXPECT_EQ(scan({"Xid 79 at 3b body gone"}), Hits{"0:primary bdf=3b body=gone xid=79"});
  EXPECT_EQ(scan({"Xid 80 at 3b body gone"}), Hits{"0:detail bdf=3b body=gone xid=80"});
  EXPECT_EQ(scan({"Xid 80 at 3b"}), Hits{"0:parser bdf=3b xid=80"});
}

TEST_F(Engine, ThePrimarysOwnCapturesWin) {
  use(signature("z.primary", "real=(\\w+)", "\"name\"", severity_error) +
      signature("a.parser", "guess=(\\w+)", "\"name\"", "use = \"parser\"\nseverity = \"fatal\""));
  EXPECT_EQ(scan({"guess=x real=y"}), Hits{"0:z.primary name=y"});
}

TEST_F(Engine, OfSeveralPrimariesSeverityThenStrengthThenIdDecide) {
  use(signature("b", "word", "", severity_error) + signature("a", "word", "", severity_error) +
      signature("c", "worst", "", "severity = \"fatal\"") +
      signature("d", "sure", "", "strength = \"decisive\"\n" + severity_error));
  EXPECT_EQ(scan({"word", "word worst", "word sure", "worst sure"}),
            (Hits{"0:a", "1:c", "2:d", "3:c"}));
}

TEST_F(Engine, AGroupThatTookNoPartSaysNothing) {
  use(signature("a", "Xid(?: pid=(\\d+))?(?: (up)| (down))", "\"pid\", \"way\", \"way\"",
                severity_error));
  EXPECT_EQ(scan({"Xid down", "Xid pid=7 up"}), (Hits{"0:a way=down", "1:a pid=7 way=up"}));
}

TEST_F(Engine, InvalidUtf8IsBytesLikeOthers) {
  use(signature("a", "name=(.+) end", "\"name\"", severity_error));
  EXPECT_EQ(scan({"name=\xff\xfe end"}), Hits{"0:a name=\xff\xfe"});
}

TEST_F(Engine, WithoutSignaturesNothingHits) {
  use(signature("a", "x", "", severity_error));
  auto opened = SignatureDatabase::open(catalog_, {Layer::application}, {}, counters_);
  ASSERT_TRUE(opened.ok());
  LineBlock block;
  block.add("x", 0, 0);
  EXPECT_TRUE(SignatureEngine(opened.value(), counters_).scan(block).empty());
  EXPECT_TRUE(SignatureEngine(database_, counters_).scan(LineBlock()).empty());
  EXPECT_EQ(counters_.get("signature_scan_failures_total"), 0U);
}

TEST_F(Engine, EnginesOfOneDatabaseMayScanAtOnce) {
  use(signature("a", "Xid: (\\d+)", "\"xid\"", severity_error));
  std::vector<std::thread> threads;
  std::vector<std::size_t> hits(4);
  for (std::size_t i = 0; i < hits.size(); ++i) {
    threads.emplace_back([this, &hits, i] {
      SignatureEngine engine(database_, counters_);
      LineBlock block;
      for (int line = 0; line < 100; ++line) block.add("Xid: " + std::to_string(line), 0, 0);
      for (int round = 0; round < 20; ++round) hits[i] += engine.scan(block).size();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(hits, (std::vector<std::size_t>(4, 2000)));
}

TEST_F(Engine, APatternThatVectorscanCannotTakeIsNamed) {
  CatalogParser parser;
  ASSERT_TRUE(parser.add_causes(cause_text, "c").ok());
  // RE2 knows (?U), which swaps greedy and lazy; Vectorscan does not.
  const auto both =
      signature("ok", "x", "", severity_error) + signature("odd", "a(?U)b+c", "", severity_error);
  ASSERT_TRUE(parser.add_signatures(both, "s").ok());
  const auto catalog = parser.finish();
  ASSERT_TRUE(catalog.ok());
  const auto opened = SignatureDatabase::open(*catalog, {Layer::kernel}, {}, counters_);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("signature 'odd' cannot be compiled"), std::string::npos)
      << opened.error().message;
}

TEST(LineBlock, GivesBackWhatWasPutIn) {
  LineBlock block;
  block.add("head body", 5, 17);
  block.add("only body", 0, 18);
  block.add("only head", 9, 19);
  EXPECT_EQ(block.text(), "head \nbody\nonly body\nonly head\n\n");
  EXPECT_EQ(block.line(0), "head body");
  EXPECT_EQ(block.body(0), "body");
  EXPECT_EQ(block.line(1), "only body");
  EXPECT_EQ(block.body(2), "");
  EXPECT_EQ(block.line(2), "only head");
  EXPECT_EQ(block.entries()[0].offset, 17U);
  EXPECT_EQ(block.line_at(1), 0U);
  EXPECT_EQ(block.line_at(10), 0U);  // the last byte of "body"
  EXPECT_EQ(block.line_at(11), 0U);  // its line end
  EXPECT_EQ(block.line_at(12), 1U);
  EXPECT_EQ(block.line_at(block.text().size()), 2U);
}

TEST(Layers, AJobsLogIsNeverMatchedOnKernelSignatures) {
  EXPECT_EQ(layers_of(EventSource::kernel_log), std::vector{Layer::kernel});
  EXPECT_EQ(layers_of(EventSource::job_log), (std::vector{Layer::scheduler, Layer::application}));
  EXPECT_EQ(layers_of(EventSource::scheduler), std::vector{Layer::scheduler});
  for (const auto source : {EventSource::launcher, EventSource::nvml, EventSource::agent,
                            EventSource::controller, EventSource::person}) {
    EXPECT_TRUE(layers_of(source).empty());
  }
}

}  // namespace
}  // namespace faultline
