// `faultline diagnose` as it is typed: what it exits with, and what it leaves alone.
#include "apps/diagnose_command.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace faultline {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

class DiagnoseCommandTest : public testing::Test {
 protected:
  DiagnoseCommandTest() {
    std::string name = (fs::temp_directory_path() / "faultline-diagnose.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    options_.catalog = FAULTLINE_SOURCE_CATALOG_DIR;
    // Compiling takes seconds under the sanitizers, and nobody's own cache is touched.
    const std::string cache =
        testing::TempDir() + "faultline_test_signatures_" + std::to_string(::geteuid());
    ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  }
  ~DiagnoseCommandTest() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content) const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  static std::string content_of(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// Exit code; what it said is in out_ and err_.
  int run(const std::vector<std::string>& paths) {
    options_.paths = paths;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = diagnose_main(options_);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }
  [[nodiscard]] bool said(const std::string& words) const {
    return err_.find(words) != std::string::npos;
  }

  fs::path folder_;
  DiagnoseOptions options_;
  std::string out_, err_;
};

constexpr const char* healthy = "[rank0]: step 1 loss 2.3\n[rank0]: step 2 loss 2.2\n";
constexpr const char* broken =
    "[rank0]: step 1 loss 2.3\n"
    "[rank0]: Traceback (most recent call last):\n"
    "[rank0]:   File \"train.py\", line 3, in <module>\n"
    "[rank0]: ModuleNotFoundError: No module named 'flash_attn'\n";

TEST_F(DiagnoseCommandTest, ExitsByWhatItFound) {
  EXPECT_EQ(run({write("healthy.log", healthy)}), 0) << out_ << err_;
  EXPECT_EQ(run({write("broken.log", broken)}), 1) << out_ << err_;
  EXPECT_NE(out_.find("software.user_exception"), std::string::npos) << out_;
}

TEST_F(DiagnoseCommandTest, WhatCannotBeReadIsNoVerdict) {
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(run({(folder_ / "nothing").string()}), 2);
  EXPECT_TRUE(said("cannot be found")) << err_;
  EXPECT_EQ(run({write("empty.log", "")}), 2);
  EXPECT_EQ(run({write("cut.pickle", std::string("\x80\x02}q\0X\x05\0\0", 10))}), 2) << out_;
  EXPECT_TRUE(said("cut.pickle")) << err_;
  EXPECT_EQ(out_, "");
}

TEST_F(DiagnoseCommandTest, NothingWrongIsNotSaidOfWhatWasReadInPart) {
  const std::string log = write("healthy.log", healthy);
  EXPECT_EQ(run({log, (folder_ / "rank1.log").string()}), 3) << out_;
  EXPECT_NE(out_.find("rank1.log cannot be found"), std::string::npos) << out_;
  // A picture beside it is nothing that a run left behind.
  EXPECT_EQ(run({log, write("loss.png", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16))}), 0)
      << out_;
  EXPECT_TRUE(said("loss.png")) << err_;
}

TEST_F(DiagnoseCommandTest, APickleThatIsNamedLikeADumpAndIsNoneMayMatter) {
  const std::string log = write("healthy.log", healthy);
  const std::string calls =
      "\x80\x02"
      "cos\nsystem\nX\x04\0\0\0true\x85R."s;
  EXPECT_EQ(run({log, write("nccl_trace_rank_3", calls)}), 3) << out_;
  EXPECT_TRUE(said("nccl_trace_rank_3")) << err_;
  EXPECT_EQ(run({log, write("vocabulary.pkl", calls)}), 0) << out_;
  EXPECT_TRUE(said("vocabulary.pkl")) << err_;
  const std::string checkpoint =
      "\x80\x02\x8a\nl\xfc\x9c"
      "F\xf9 j\xa8P\x19."s;
  EXPECT_EQ(run({log, write("model_rank_3", checkpoint)}), 0) << out_;
}

TEST_F(DiagnoseCommandTest, ALongLineIsReadToItsEnd) {
  const std::string oom = " RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n";
  const std::string before = "[rank0]: step 1\n", line(1'500'000, 'x');
  EXPECT_EQ(run({write("long.log", before + line + oom)}), 1) << out_ << err_;
  // There is an end to it, which is said.
  EXPECT_EQ(run({write("longer.log", before + line + line + oom)}), 3) << out_;
  EXPECT_TRUE(said("has 1 line of more than 2 MiB")) << err_;
}

TEST_F(DiagnoseCommandTest, APageTakesThePlaceOfAPageAndOfNothingElse) {
  const std::string log = write("broken.log", broken);
  options_.html = log;
  EXPECT_EQ(run({log}), 2);
  EXPECT_TRUE(said("name another file")) << err_;
  EXPECT_EQ(content_of(log), broken);
  options_.html = folder_.string();
  EXPECT_EQ(run({log}), 2);
  options_.html = (folder_ / "no/such/page.html").string();
  EXPECT_EQ(run({log}), 2);
  EXPECT_TRUE(said("there is no folder")) << err_;
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  options_.html = pipe.string();
  EXPECT_EQ(run({log}), 2);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(DiagnoseCommandTest, APageIsWrittenAgainBehindItsLinkAndNeverRead) {
  const std::string log = write("broken.log", broken);
  const fs::path page = folder_ / "page.html", link = folder_ / "link.html";
  fs::create_symlink(page, link);
  options_.html = link.string();
  EXPECT_EQ(run({log}), 1) << err_;
  EXPECT_TRUE(fs::is_symlink(link));
  const std::string first = content_of(page);
  EXPECT_NE(first.find("flash_attn"), std::string::npos);
  EXPECT_EQ(run({folder_.string()}), 1) << err_;
  EXPECT_TRUE(said("is a page of faultline's own")) << err_;
  EXPECT_EQ(out_.find("page.html"), std::string::npos) << out_;
}

TEST_F(DiagnoseCommandTest, ExplainsAndSaysWhatItDoesNotKnow) {
  options_.explain = "stuck_operation";
  EXPECT_EQ(run({}), 0);
  for (const char* id : {"gpu.fell_off_bus", "xid.79", "GT-043", "cases"}) {
    options_.explain = id;
    EXPECT_EQ(run({}), 0) << id;
    EXPECT_NE(out_.find(id == std::string("cases") ? "GT-044" : id), std::string::npos) << out_;
  }
  options_.explain = "GT-999";
  EXPECT_EQ(run({}), 2);
  options_.explain = "no_such_rule";
  EXPECT_EQ(run({}), 2);
  EXPECT_TRUE(said("--explain rules")) << err_;
}

}  // namespace
}  // namespace faultline
