#include "ingest/nvidia_bug_report.h"

#include <gtest/gtest.h>

#include "ingest/record_fixture.h"

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view line = "____________________________________________\n";
constexpr std::string_view xid_79 =
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.\n";

std::string section(const std::string& title, const std::string& content) {
  return std::string(line) + "\n" + title + "\n\n" + content + "\n";
}

std::string head() {
  return std::string(line) +
         "\nStart of NVIDIA bug report log file.  Please include this file, along\n"
         "with a detailed description of your problem\n\n"
         "nvidia-bug-report.sh Version: 34275571\n\nDate: Tue Nov 17 10:30:00 UTC 2026\n"
         "uname: Linux n3 5.15.0-91-generic #101-Ubuntu SMP x86_64 GNU/Linux\n"
         "command line flags: \n\n";
}

class NvidiaBugReportTest : public RecordTest {
 protected:
  std::vector<Event> report(const std::string& text, std::size_t chunk = 4096,
                            Origin origin = Origin{}) {
    origin.path = "nvidia-bug-report.log.gz";
    NvidiaBugReportDecoder decoder(database(EventSource::kernel_log), origin, counters_);
    return run(decoder, text, chunk);
  }
};

TEST_F(NvidiaBugReportTest, GivesKernelSectionsToTheKernelsDecoder) {
  const std::string text = head() + section("/etc/issue", "Ubuntu") +
                           section("/bin/dmesg", "[  901.5] " + std::string(xid_79)) +
                           section("/sbin/lspci -nvvxxx", "junk " + std::string(xid_79));
  const auto events = report(text);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(brief(events[0]),
            "xid.79 gpu:n3/0000:3b:00.0 @" + std::to_string(text.find("[  901.5]")));
  EXPECT_EQ(events[0].reporter, "n3") << "from uname";
  EXPECT_EQ(events[0].field("kernel_us"), "901500000");
  EXPECT_EQ(events[0].raw.path, "nvidia-bug-report.log.gz");
}

TEST_F(NvidiaBugReportTest, ReadsJournalsAndLogFiles) {
  const std::string stamped = "Nov 17 10:22:31 n3 kernel: " + std::string(xid_79);
  for (const std::string title :
       {"/usr/bin/journalctl -b -0", "*** /var/log/kern.log\n*** ls: -rw-r--r-- 1 root",
        "Scanning kernel log files for NVIDIA kernel messages:\n\n  /var/log/messages:",
        "dmesg:"}) {
    const std::string text = head() + section(title, stamped);
    const auto events = report(text);
    ASSERT_EQ(events.size(), 1U) << title;
    EXPECT_EQ(events[0].raw.offset, text.find("Nov 17 10:22:31"));
    EXPECT_EQ(to_text(events[0].observed_at), "2026-11-17T10:22:31.000000Z")
        << "the year follows from the report's date";
  }
  EXPECT_TRUE(report(head() + section("*** /var/log/Xorg.0.log", stamped)).empty());
}

TEST_F(NvidiaBugReportTest, AUsersLineInAJournalIsNotTheKernels) {
  EXPECT_TRUE(report(head() + section("/usr/bin/journalctl -b -0",
                                      "Nov 17 10:22:31 n3 ann: " + std::string(xid_79)))
                  .empty());
}

TEST_F(NvidiaBugReportTest, GivesTheReportOfGpusToItsDecoder) {
  const std::string smi =
      "==============NVSMI LOG==============\n\nTimestamp   : Tue Nov 17 10:22:31 2026\n\n"
      "GPU 00000000:3B:00.0\n    GPU UUID      : GPU-1\n    Remapped Rows\n"
      "        Pending          : Yes\n";
  const std::string text = head() + section("/usr/bin/nvidia-smi --query",
                                            smi + "\n/usr/bin/nvidia-smi --query --unit\n\n" +
                                                "GPU 00000000:5E:00.0\n    GPU UUID : GPU-2\n");
  const auto events = report(text);
  EXPECT_EQ(
      briefs(events),
      (Texts{"gpu_identity gpu:n3/0000:3b:00.0 @" + std::to_string(text.find("GPU 0000")),
             "gpu_sample gpu:n3/0000:3b:00.0 @" + std::to_string(text.find("        Pend"))}));
}

TEST_F(NvidiaBugReportTest, IsTheSameHoweverTheBytesAreCut) {
  const std::string text =
      head() + section("/bin/dmesg", "[  901.5] " + std::string(xid_79)) +
      section("/usr/bin/nvidia-smi -q", "GPU 00000000:3B:00.0\n    GPU UUID      : GPU-1\n");
  const auto whole = report(text);
  EXPECT_EQ(whole.size(), 2U);
  for (std::size_t chunk = 1; chunk < 120; chunk += 7) EXPECT_EQ(report(text, chunk), whole);
}

TEST_F(NvidiaBugReportTest, TheCallerKnowsTheNode) {
  Origin origin;
  origin.node = "gpu-17";
  origin.last_written = test_time("2028-01-01T00:00:00Z");  // of a copy
  const auto events =
      report(head() + section("/bin/dmesg", "Nov 17 10:22:31 n3 kernel: " + std::string(xid_79)),
             4096, origin);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].subject.node, "gpu-17");
  EXPECT_EQ(to_text(events[0].observed_at), "2026-11-17T10:22:31.000000Z")
      << "but not when the report was made";
}

TEST_F(NvidiaBugReportTest, WithoutAHeadTheNodeIsUnknown) {
  const auto events = report(section("/bin/dmesg", "[  901.5] " + std::string(xid_79)));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].subject.node, "unknown");
  EXPECT_TRUE(report("uname:\nDate:\nDate: x\n").empty());
}

TEST_F(NvidiaBugReportTest, ALineWithoutEndIsReadInParts) {
  const std::string endless = head() + section("/bin/dmesg", std::string(300'000, 'x'));
  const auto events = report(endless + "\n" + section("/etc/issue", ""));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, EventKind::source_gap);
}

}  // namespace
}  // namespace faultline
