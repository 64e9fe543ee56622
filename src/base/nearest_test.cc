#include "base/nearest.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

const std::vector<std::string> verbs = {"nodes", "jobs", "serve", "verdicts", "approve", "why"};

TEST(Nearest, FindsWhatWasMeant) {
  EXPECT_EQ(nearest("nods", verbs), "nodes");
  EXPECT_EQ(nearest("nodess", verbs), "nodes");
  EXPECT_EQ(nearest("sevre", verbs), "serve");
  EXPECT_EQ(nearest("verdict", verbs), "verdicts");
  EXPECT_EQ(nearest("aprov", verbs), "");  // two mistakes in five letters
  EXPECT_EQ(nearest("aprovee", verbs), "approve");
  EXPECT_EQ(nearest("whi", verbs), "why");
}

TEST(Nearest, IsQuietWhereNothingIsNear) {
  for (const char* word : {"", "x", "drain", "zzzzz"}) EXPECT_EQ(nearest(word, verbs), "") << word;
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest(std::string(1 << 20, 'n'), verbs), "");
  EXPECT_EQ(nearest(std::string(64, 'n'), {std::string(1 << 20, 'n')}), "");
}

TEST(Nearest, SaysIt) {
  EXPECT_EQ(did_you_mean("nods", verbs), "; did you mean 'nodes'?");
  EXPECT_EQ(did_you_mean("drain", verbs), "");
}

}  // namespace
}  // namespace faultline
