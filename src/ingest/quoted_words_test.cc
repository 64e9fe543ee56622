#include "ingest/quoted_words.h"

#include <gtest/gtest.h>

#include <string>

namespace faultline {
namespace {

/// Whether the words between the two '|' of `line` are quoted there.
bool quoted(std::string line) {
  const auto at = line.find('|');
  line.erase(at, 1);
  return is_quoted(line, at);
}

TEST(QuotedWords, Quotes) {
  EXPECT_TRUE(quoted("sample: \"Q: my job dies with |CUDA error: x. A: drain\""));
  EXPECT_TRUE(quoted("+ grep -c \"|uncorrectable ECC error encountered\" job.log"));
  EXPECT_TRUE(quoted("If you see `RuntimeError: |CUDA error: x` then ask"));
  EXPECT_FALSE(quoted("loading \"model\" failed: |CUDA error: x"));
  EXPECT_FALSE(quoted("|CUDA error: x"));
}

TEST(QuotedWords, AFieldsValueIsAReport) {
  EXPECT_FALSE(quoted(R"({"ts": 1, "message": "RuntimeError: |CUDA error: x"})"));
  EXPECT_FALSE(quoted(R"(level=error msg="|CUDA error: x")"));
}

TEST(QuotedWords, ATestsName) {
  EXPECT_TRUE(quoted("tests/test_faults.py::test_classify[RuntimeError: |CUDA error: x] PASSED"));
  EXPECT_FALSE(quoted("[rank3]: RuntimeError: |CUDA error: x"));
  EXPECT_FALSE(quoted("errors: [RuntimeError('|CUDA error: x')]"));
  EXPECT_FALSE(quoted("worker[3]: |CUDA error: x"));
}

TEST(QuotedWords, DeniedOrTold) {
  EXPECT_TRUE(quoted("its rank on n4 will say: |CUDA error: x"));
  EXPECT_TRUE(quoted("errors like |CUDA error: x are the node's"));
  EXPECT_FALSE(quoted("rank 3 died: |CUDA error: x"));
  EXPECT_TRUE(quoted("checked, no |CUDA error: x"));
  EXPECT_FALSE(quoted("cannot go on: |CUDA error: x"));
  EXPECT_FALSE(quoted("no space left, |CUDA error: x"));
}

TEST(QuotedWords, LevelsOfLoggers) {
  EXPECT_TRUE(quoted("INFO previous attempt on n7 failed: |CUDA error: x"));
  EXPECT_TRUE(quoted("[INFO] earlier: |CUDA error: x"));
  EXPECT_FALSE(quoted("ERROR - |CUDA error: x"));
  EXPECT_FALSE(quoted("n1:12:34 [3] NCCL INFO |NET/IB : mlx5_0:1 async fatal event"));
  EXPECT_FALSE(quoted("INFORMATION |CUDA error: x"));
  EXPECT_FALSE(quoted("'NCCL_DEBUG=INFO python train.py' failed: |CUDA error: x"));
}

}  // namespace
}  // namespace faultline
