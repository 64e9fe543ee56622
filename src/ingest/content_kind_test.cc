#include "ingest/content_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/small_file.h"
#include "base/text.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

struct Snippet {
  std::string where;
  std::string kind;
  std::string text;
};

/// What stands under each "=== KIND: what it is" of the files in tests/cases/content_kind.
std::vector<Snippet> snippets() {
  std::vector<Snippet> all;
  for (const auto& file :
       fs::directory_iterator(FAULTLINE_SOURCE_DIR "/tests/cases/content_kind")) {
    const auto content = read_small_file(file.path(), 1 << 20);
    EXPECT_TRUE(content.ok());
    const std::size_t before = all.size();
    for (const auto line : split(*content, '\n')) {
      if (line.starts_with("=== ")) {
        const std::string kind(line.substr(4, line.find(':') - 4));
        all.push_back({file.path().filename().string() + ": " + std::string(line), kind, ""});
      } else if (all.size() > before) {
        all.back().text += std::string(line) + "\n";
      }
    }
  }
  return all;
}

TEST(ContentKind, SnippetsAreWhatTheyAre) {
  const auto all = snippets();
  EXPECT_GE(all.size(), 60U);
  for (const Snippet& snippet : all)
    EXPECT_EQ(to_text(content_kind(snippet.text)), snippet.kind) << snippet.where;
}

TEST(ContentKind, WindowsLineEndsChangeNothing) {
  for (const Snippet& snippet : snippets()) {
    std::string text;
    for (const char c : snippet.text) text += c == '\n' ? "\r\n"s : std::string(1, c);
    EXPECT_EQ(to_text(content_kind(text)), snippet.kind) << snippet.where;
  }
}

TEST(ContentKind, EncodingsAreSaidAndChangeNothing) {
  for (const Snippet& snippet : snippets()) {
    std::string little = "\xFF\xFE";
    std::string big = "\xFE\xFF";
    for (const char c : snippet.text) {
      little += std::string{c, '\0'};
      big += std::string{'\0', c};
    }
    const Content marked = content_of("\xEF\xBB\xBF" + snippet.text);
    EXPECT_EQ(to_text(marked.kind), snippet.kind) << snippet.where;
    EXPECT_EQ(marked.encoding, TextEncoding::utf8_bom);
    EXPECT_EQ(to_text(content_of(little).kind), snippet.kind) << snippet.where;
    EXPECT_EQ(content_of(little).encoding, TextEncoding::utf16_le);
    EXPECT_EQ(to_text(content_of(big).kind), snippet.kind) << snippet.where;
    EXPECT_EQ(content_of(big).encoding, TextEncoding::utf16_be);
    if (snippet.text.size() < 16) continue;  // too few bytes to see it without its mark
    EXPECT_EQ(content_of(little.substr(2)).encoding, TextEncoding::utf16_le);
    EXPECT_EQ(content_of(big.substr(2)).encoding, TextEncoding::utf16_be);
  }
}

TEST(ContentKind, NothingIsEmpty) { EXPECT_EQ(content_kind(""), ContentKind::empty); }

TEST(ContentKind, DumpsOfTheFlightRecorderAreKnownByTheirKeys) {
  const std::string key = "X\x07\0\0\0version"s;
  EXPECT_EQ(
      content_kind("\x80\x02}(" + key + "q\0X\x09\0\0\0pg_config"s + "q\x02}X\x09\0\0\0pg_status"s),
      ContentKind::flight_recorder_pickle);
  EXPECT_EQ(
      content_kind("\x80\x02}(X\x07\0\0\0entries](}(X\x09\0\0\0record_idK\0X\x05\0\0\0pg_id"s),
      ContentKind::flight_recorder_pickle);
  // Protocol 0 is text.
  EXPECT_EQ(
      content_kind("(dp0\nVversion\np1\nV2.4\np2\nsVpg_config\np3\n(dp4\nsVentries\np5\n(lp6\ns."),
      ContentKind::flight_recorder_pickle);
  // A pickle of somebody else's.
  EXPECT_EQ(
      content_kind(
          "\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94(\x8c\x07version\x94K\x01\x8c\x05model\x94K\x02u."s),
      ContentKind::binary);
}

TEST(ContentKind, WhatIsNoTextIsBinary) {
  std::string noise;
  std::uint64_t state = 1;
  for (int i = 0; i < 4096; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    noise += static_cast<char>(state >> 56);
  }
  EXPECT_EQ(content_kind(noise), ContentKind::binary);
  EXPECT_EQ(content_kind("\x7f"
                         "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0"s),
            ContentKind::binary);
  EXPECT_EQ(content_kind(std::string(5000, '\0')), ContentKind::binary);
  EXPECT_EQ(content_kind("\x48\x01\0\0\0\0\0\0{\"model.layers.0.weight\":{\"dtype\":\"BF16\"}}"s),
            ContentKind::binary);  // safetensors
}

TEST(ContentKind, APickleThatIsTextIsNamed) {
  EXPECT_EQ(content_kind("cos\nsystem\n(S'touch x'\ntR."), ContentKind::binary);
  EXPECT_EQ(content_kind("cnumpy.core\nscalar\np0\n(I1\ntp1\nRp2\n."), ContentKind::binary);
  EXPECT_EQ(content_kind("(lp0\nI1\naI2\na."), ContentKind::binary);
  EXPECT_EQ(content_kind("c001\nc002\nprepared.\n"), ContentKind::job_log) << "names of hosts";
  EXPECT_EQ(content_kind("cos\nsystem\n(S'touch x'\n"), ContentKind::job_log) << "no end";
  EXPECT_EQ(content_kind("(lpx\nI1\n."), ContentKind::job_log);
}

TEST(ContentKind, KernelLinesAmongOthersWordsArePasted) {
  const std::string xid =
      "[ 7211.100200] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n";
  EXPECT_EQ(pasted_kernel_lines("From the node:\n$ dmesg | tail -1\n" + xid), xid);
  EXPECT_EQ(pasted_kernel_lines("From the node:\nall is well\n"), "");
  for (const char* words :
       {"srun: job 77 queued\n", "[rank3]: step 4\n", "Traceback (most recent call last):\n"})
    EXPECT_EQ(pasted_kernel_lines(words + xid), "") << words;
  EXPECT_EQ(pasted_kernel_lines("Nov 29 21:18:32 n3 logger[7]: x\nsee above\n"), "");
}

TEST(ContentKind, ALogThatACrashLeftHolesInIsALog) {
  const std::string line =
      "[901233.11] NVRM: Xid (PCI:0000:4f:00): 79, GPU has fallen off the bus.\n";
  EXPECT_EQ(content_kind(line + std::string(3000, '\0')), ContentKind::kernel_log);
  EXPECT_EQ(content_kind(std::string(3000, '\0') + line), ContentKind::kernel_log);
  EXPECT_EQ(content_kind("step 1\0\nstep 2 loss 3.1, and so on, until the end of the day\n"s),
            ContentKind::job_log);
}

TEST(ContentKind, ColoursAndOtherLettersAreText) {
  EXPECT_EQ(content_kind("\x1b[32mstep 1\x1b[0m\n"), ContentKind::job_log);
  EXPECT_EQ(content_kind("\xc4\xe3\xba\xc3\xca\xc0\xbd\xe7 \xd1\xb5\xc1\xb7\n"),
            ContentKind::job_log);
}

TEST(ContentKind, ALineThatIsCutAtTheEndDoesNotCount) {
  std::string log;
  while (log.size() < content_head_bytes)
    log += "[2025-12-20T09:43:55.500] error: Nodes n3 not responding, setting DOWN\n";
  EXPECT_EQ(content_kind(log.substr(0, content_head_bytes)), ContentKind::scheduler_log);
}

TEST(ContentKind, TheShareOfAJobsOwnLinesDecides) {
  std::string log;
  for (int i = 0; i < 80; ++i) log += "[901233.110000] NVRM: loading\n";
  std::string mixed = log;
  for (int i = 0; i < 20; ++i) mixed += "a stack trace goes on\n";
  EXPECT_EQ(content_kind(mixed), ContentKind::kernel_log);
  EXPECT_EQ(content_kind(mixed + "one line more\n"), ContentKind::job_log);
}

/// A dump or a document that is cut anywhere never breaks it.
TEST(ContentKind, EveryPrefixIsOfSomeKind) {
  for (const Snippet& snippet : snippets()) {
    for (std::size_t bytes = 0; bytes <= snippet.text.size(); ++bytes)
      EXPECT_NE(to_text(content_kind(snippet.text.substr(0, bytes))), "invalid");
  }
}

}  // namespace
}  // namespace faultline
