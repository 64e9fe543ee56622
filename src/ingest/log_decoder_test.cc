#include "ingest/log_decoder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/rng.h"
#include "ingest/decoder_fixture.h"

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

const std::string xid_79 =
    "NVRM: Xid (PCI:0000:3B:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";

class LogDecoderTest : public DecoderTest {};

TEST_F(LogDecoderTest, MakesAnEventOfAKernelLine) {
  const auto events = decode(kernel_origin(), "3,77,5000000,-;" + xid_79 + "\n");
  ASSERT_EQ(events.size(), 1U);
  const Event& event = events[0];
  EXPECT_EQ(event.kind, EventKind::log_signature);
  EXPECT_EQ(event.source, EventSource::kernel_log);
  EXPECT_EQ(event.signature, "xid.79");
  EXPECT_EQ(event.subject.text(), "gpu:n3/0000:3b:00.0");
  EXPECT_EQ(event.reporter, "n3");
  EXPECT_EQ(to_text(event.observed_at), "2026-02-20T00:00:05.000000Z");
  EXPECT_EQ(event.clock, ClockDomain::node_kernel);
  EXPECT_FALSE(known(event.received_at));
  EXPECT_EQ(event.field("bdf"), "0000:3B:00");
  EXPECT_EQ(event.field("xid"), "79");
  EXPECT_EQ(event.field("kernel_us"), "5000000");
  EXPECT_EQ(event.raw.path, "/dev/kmsg");
  EXPECT_EQ(event.raw.offset, 77U) << "the kernel's sequence number";
  EXPECT_EQ(event.raw.boot_id, "boot-1");
  EXPECT_EQ(event.raw.text, "3,77,5000000,-;" + xid_79);
  EXPECT_EQ(event.id, make_event_id(event));
}

TEST_F(LogDecoderTest, MakesAnEventOfAJobsLine) {
  const auto events =
      decode(job_origin(),
             "x\n2026-03-01T11:59:00.5Z n3 rank3 | [rank5]: RuntimeError: CUDA error: "
             "uncorrectable ECC error encountered\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].signature, "cuda.ecc");
  EXPECT_EQ(events[0].subject.text(), "rank:123#0/5@n3") << "the rank leads to the GPU";
  EXPECT_EQ(events[0].attempt, (AttemptId{"123", 0}));
  EXPECT_EQ(to_text(events[0].observed_at), "2026-03-01T11:59:00.500000Z");
  EXPECT_EQ(events[0].clock, ClockDomain::node_wall);
  EXPECT_EQ(events[0].field("rank"), "5");
  EXPECT_EQ(events[0].raw.offset, 2U);
}

TEST_F(LogDecoderTest, AKernelLineInAJobsLogIsWords) {
  EXPECT_TRUE(decode(job_origin(), xid_79 + "\n[ 12.5] " + xid_79 +
                                       "\nOct 02 09:14:02 n3 kernel: " + xid_79 + "\n3,7,5,-;" +
                                       xid_79 + "\nKernel panic - not syncing: x\n")
                  .empty());
}

TEST_F(LogDecoderTest, InASyslogFileOnlyTheKernelsLinesCount) {
  const auto events = decode(kernel_origin(), "Feb 28 09:14:02 n3 logger[7]: " + xid_79 +
                                                  "\nFeb 28 09:14:03 n3 kernel: " + xid_79 + "\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(to_text(events[0].observed_at), "2026-02-28T09:14:03.000000Z");
  EXPECT_EQ(events[0].clock, ClockDomain::node_wall);
  EXPECT_EQ(counters_.get("ingest_not_kernel_lines_total"), 1U);
}

TEST_F(LogDecoderTest, AnAgentsKernelLogSpeaksOfItsOwnNodeAlone) {
  const auto line = "Feb 28 09:14:03 other kernel: " + xid_79 + "\n";
  EXPECT_EQ(decode(kernel_origin(), line).at(0).subject.text(), "gpu:n3/0000:3b:00.0");
  Origin copied = kernel_origin();
  copied.node = "";
  const auto events = decode(copied, line);
  EXPECT_EQ(events.at(0).subject.text(), "gpu:other/0000:3b:00.0");
  EXPECT_EQ(events.at(0).reporter, "other");
}

TEST_F(LogDecoderTest, ACentralLogsLinesOfOtherHostsAreNotOurs) {
  Origin named = kernel_origin();
  named.host_names = {"n3", "gpu-03"};
  EXPECT_TRUE(decode(named, "Feb 28 09:14:03 other kernel: " + xid_79 + "\n").empty());
  EXPECT_EQ(counters_.get("ingest_other_host_lines_total"), 1U);
  EXPECT_EQ(decode(named, "Feb 28 09:14:03 n3 kernel: " + xid_79 + "\n").size(), 1U);
  EXPECT_EQ(decode(named, "Feb 28 09:14:03 GPU-03.dc.example kernel: " + xid_79 + "\n").size(), 1U);
}

TEST_F(LogDecoderTest, ADriversMessageThatIsOnlyQuotedIsNotTheDrivers) {
  for (const char* quoted : {"usb 1-1: Product: ", "systemd[1]: foo.service: ", "audit: comm=\"",
                             "docker0: log \"user text: "}) {
    EXPECT_TRUE(decode(kernel_origin(), "[ 100.5] " + std::string(quoted) + xid_79 + "\n").empty())
        << quoted;
  }
  EXPECT_EQ(decode(kernel_origin(), "[ 100.5] " + xid_79 + "\n").size(), 1U);
}

TEST_F(LogDecoderTest, AJobNamesNoOtherJob) {
  const std::string line =
      "slurmstepd: error: *** JOB 999 ON n1 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT "
      "***\n";
  EXPECT_EQ(decode(job_origin(), line).at(0).subject.text(), "job:123");
  Origin scheduler;
  scheduler.source = EventSource::scheduler;
  const auto events =
      decode(scheduler,
             "[2026-02-28T09:14:03.500] [999.0] error: *** STEP 999.0 ON n1 CANCELLED AT "
             "2026-01-02T03:04:05 DUE TO TIME LIMIT ***\n");
  EXPECT_EQ(events.at(0).subject.text(), "job:999");
  EXPECT_EQ(events.at(0).clock, ClockDomain::scheduler);
  EXPECT_EQ(to_text(events.at(0).observed_at), "2026-02-28T09:14:03.500000Z");
}

TEST_F(LogDecoderTest, ALogOfManyRanksSaysNothingOfWhereTheyRan) {
  Origin batch = job_origin();
  batch.rank = -1;
  const std::string line =
      "[rank27]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n";
  EXPECT_EQ(decode(batch, line).at(0).subject.text(), "rank:123#0/27");
  EXPECT_EQ(decode(batch, "c000001: " + line).at(0).subject.text(), "rank:123#0/27@c000001");
  EXPECT_EQ(decode(job_origin(), line).at(0).subject.text(), "rank:123#0/27@n3");
}

TEST_F(LogDecoderTest, AKernelLogOfNobodyKeepsItsGpusApart) {
  Origin nobody = kernel_origin();
  nobody.node = "";
  const auto events = decode(
      nobody, "[1.0] NVRM: Xid (PCI:0000:3b:00): 79, x\n[1.0] NVRM: Xid (PCI:0000:5e:00): 79, x\n");
  EXPECT_EQ(events.at(0).subject.text(), "gpu:unknown/0000:3b:00.0");
  EXPECT_EQ(events.at(1).subject.text(), "gpu:unknown/0000:5e:00.0");
}

TEST_F(LogDecoderTest, TorchrunsTableIsAnEventForEachProcess) {
  const auto entry = [](const std::string& host, int rank, int code, const std::string& traceback) {
    return "[1]:\n  time      : 2026-03-01_11:50:25\n  host      : " + host +
           "\n  rank      : " + std::to_string(rank) +
           " (local_rank: 1)\n  exitcode  : " + std::to_string(code) + " (pid: 138" +
           std::to_string(rank) + ")\n  error_file: <N/A>\n  traceback : " + traceback + "\n";
  };
  Origin batch = job_origin();
  batch.rank = -1;
  const auto events =
      decode(batch, entry("n1", 0, -15, "Signal 15 (SIGTERM) received by PID 1380") +
                        entry("n2", 8, -15, "Signal 15 (SIGTERM) received by PID 1388") +
                        entry("n1", 1, 1, "To enable traceback see: https://pytorch.org") +
                        "Root Cause (first observed failure):\n[0]:\n" +
                        entry("n2", 9, -9, "Signal 9 (SIGKILL) received by PID 1389"));
  Texts out;
  for (const auto& event : events) {
    out.push_back(event.signature + " " + event.subject.text() + " " +
                  std::string(event.field("exit_code")) + " " +
                  std::string(event.field("first_failure")));
  }
  EXPECT_EQ(out,
            (Texts{"elastic.sig.teardown rank:123#0/0@n1 -15 ",
                   "elastic.sig.teardown rank:123#0/8@n2 -15 ", "elastic.row rank:123#0/1@n1 1 ",
                   "elastic.root job:123  ", "elastic.sig.kill rank:123#0/9@n2 -9 1"}));
  EXPECT_EQ(to_text(events.at(2).observed_at), "2026-03-01T11:50:25.000000Z")
      << "each row says when: that puts the tables of all agents in order";
}

TEST_F(LogDecoderTest, ALineAboutSeveralNodesIsAnEventForEach) {
  Origin scheduler;
  scheduler.source = EventSource::scheduler;
  const auto events = decode(
      scheduler, "[2026-02-28T09:14:03.500] error: Nodes n[17-19] not responding, setting DOWN\n");
  Texts subjects;
  for (const auto& event : events) subjects.push_back(event.subject.text());
  EXPECT_EQ(subjects, (Texts{"node:n17", "node:n18", "node:n19"}));
  EXPECT_NE(events.at(0).id, events.at(1).id);
}

TEST_F(LogDecoderTest, SrunNamesTheRankAndItsNode) {
  Origin batch = job_origin();
  batch.rank = -1;
  EXPECT_EQ(
      decode(batch, "srun: error: node17: task 136: Segmentation fault\n").at(0).subject.text(),
      "rank:123#0/136@node17");
  EXPECT_EQ(
      decode(batch, "srun: error: node17: tasks 0-7: Segmentation fault\n").at(0).subject.text(),
      "attempt:123#0");
  EXPECT_EQ(decode(job_origin(), "srun: error: node17: tasks 0-7: Segmentation fault\n")
                .at(0)
                .subject.text(),
            "attempt:123#0")
      << "the log's own rank is srun's and not that of the tasks";
}

TEST_F(LogDecoderTest, WithoutABootTimeAKernelLineHasNoTime) {
  Origin origin = kernel_origin();
  origin.boot_time = {};
  const auto events = decode(origin, "[901233.11] " + xid_79 + "\n");
  EXPECT_FALSE(known(events.at(0).observed_at));
  EXPECT_EQ(events.at(0).clock, ClockDomain::none);
  EXPECT_EQ(events.at(0).field("kernel_us"), "901233110000");
  EXPECT_EQ(events.at(0).field("time_suspect"), "");
}

TEST_F(LogDecoderTest, AnAbsurdTimeIsLeftOutAndSaid) {
  const auto events = decode(
      job_origin(),
      "9999-12-31T23:59:59Z n3 rank3 | RuntimeError: CUDA error: unspecified launch failure\n");
  EXPECT_FALSE(known(events.at(0).observed_at));
  EXPECT_EQ(events.at(0).field("time_suspect"), "1");
  EXPECT_EQ(counters_.get("ingest_time_suspect_total"), 1U);
}

TEST_F(LogDecoderTest, TheCardIsKnownFromTheLinesBeforeItsFirstXid) {
  const auto events =
      decode(kernel_origin(),
             "[10.0] NVRM: GPU at PCI:0000:3b:00: GPU-b6c3b2be-c55b-d076-fa0e-d464e4c7e08b\n"
             "[10.0] NVRM: GPU Board Serial Number: 1653723052734\n"
             "[10.1] " +
                 xid_79 +
                 "\n"
                 "[10.2] NVRM: Xid (PCI:0000:5e:00): 79, GPU has fallen off the bus.\n");
  EXPECT_EQ(signatures(events), (Texts{"gpu_identity", "gpu_identity", "xid.79", "xid.79"}));
  EXPECT_EQ(events.at(0).subject.text(), "gpu:n3/0000:3b:00.0");
  EXPECT_EQ(events.at(0).field("uuid"), "GPU-b6c3b2be-c55b-d076-fa0e-d464e4c7e08b");
  EXPECT_EQ(events.at(0).signature, "");
  EXPECT_EQ(events.at(1).subject.text(), "gpu:n3/0000:3b:00.0");
  EXPECT_EQ(events.at(1).field("serial"), "1653723052734");
  EXPECT_EQ(events.at(2).field("gpu_uuid"), "GPU-b6c3b2be-c55b-d076-fa0e-d464e4c7e08b");
  EXPECT_EQ(events.at(2).field("gpu_serial"), "1653723052734");
  EXPECT_EQ(events.at(3).field("gpu_uuid"), "") << "another GPU";
}

TEST_F(LogDecoderTest, ASerialThatFollowsNoGpuIsNobodys) {
  EXPECT_TRUE(
      decode(kernel_origin(), "[10.0] NVRM: GPU Board Serial Number: 1653723052734\n").empty());
}

TEST_F(LogDecoderTest, TheThreeLineMessageOfALostGpuNamesIt) {
  const auto events =
      decode(kernel_origin(),
             "[10.0] NVRM: The NVIDIA GPU 0000:9b:00.0\n"
             "[10.0] NVRM: (PCI ID: 10de:2330) installed in this system has\n"
             "[10.0] mlx5_core 0000:63:00.0: somebody else's line\n"
             "[10.0] NVRM: fallen off the bus and is not responding to commands.\n");
  EXPECT_EQ(signatures(events), Texts{"nvrm.fallenoff.init"});
  EXPECT_EQ(events.at(0).subject.text(), "gpu:n3/0000:9b:00.0");
  EXPECT_EQ(events.at(0).field("bdf_from"), "near_line");
}

TEST_F(LogDecoderTest, FarFromAnyGpuALineIsTheNodes) {
  std::string text = "[10.0] NVRM: The NVIDIA GPU 0000:9b:00.0\n";
  for (int i = 0; i < 20; ++i) text += "[10.0] other\n";
  const auto events =
      decode(kernel_origin(),
             text + "[10.0] NVRM: fallen off the bus and is not responding to commands.\n");
  EXPECT_EQ(events.at(0).subject.text(), "node:n3");
}

TEST_F(LogDecoderTest, SxidContinuationsBelongToTheirFirstLine) {
  const auto events = decode(
      kernel_origin(),
      "[10.0] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up\n"
      "[10.0] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Severity 5 Engine instance 48 "
      "Sub-engine instance 00\n"
      "[10.0] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Data {0x50610002, 0x10100030}\n"
      "[10.5] " +
          xid_79 +
          "\n"
          "[10.6] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Data {0x1}\n");
  EXPECT_EQ(signatures(events), (Texts{"sxid.20034", "xid.79"}));
  EXPECT_EQ(events.at(0).subject.text(), "node:n3") << "an NVSwitch sits in its node";
  EXPECT_EQ(events.at(0).field("bdf"), "0000:06:00.0");
  EXPECT_EQ(events.at(0).field("severity_code"), "5");
  EXPECT_EQ(events.at(0).field("data"), "0x50610002, 0x10100030");
  EXPECT_EQ(events.at(1).field("data"), "");
}

TEST_F(LogDecoderTest, AContinuationOfADroppedLineGoesNowhere) {
  const std::string first =
      "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up\n";
  const auto events = decode(
      kernel_origin(), "[10.0] " + first + "[10.5] " + xid_79 + "\n" + "[10.6] " + first +
                           "[10.6] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Data {0x1}\n");
  EXPECT_EQ(signatures(events), (Texts{"sxid.20034", "xid.79"}));
  EXPECT_EQ(events.at(0).field("data"), "");
}

TEST_F(LogDecoderTest, TheDriversTablesAreNoEvents) {
  const auto events = decode(kernel_origin(),
                             "[1.0] NVRM: GPU4 RPC history (CPU -> GSP):\n"
                             "[1.0] NVRM:     entry function                   data0              "
                             "data1              ts_start\n"
                             "[1.0] NVRM:      0    103  GSP_RM_ALLOC          0x0000000000002081 "
                             "0x0000000000000004 0x00062ed1a6bd61fa y\n"
                             "[1.0] NVRM: Rate limiting GSP RPC error prints for GPU at "
                             "PCI:0000:8d:00 (printing 1 of every 30).\n");
  EXPECT_EQ(signatures(events), Texts{});
}

TEST_F(LogDecoderTest, AMessageOfTheDriverMayHaveSeveralLines) {
  const std::string rest =
      "               NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
      "               NVRM: fallen off the bus and is not responding to commands.\n";
  const auto events = decode(kernel_origin(), "[10.0] NVRM: The NVIDIA GPU 0000:b3:00.0\n" + rest);
  ASSERT_EQ(signatures(events), Texts{"nvrm.fallenoff.init"});
  EXPECT_EQ(events[0].subject.text(), "gpu:n3/0000:b3:00.0");
  // Behind another's message the same blanks are that one's words, also if it was left out itself.
  EXPECT_TRUE(
      decode(kernel_origin(), "[10.0] overlayfs: failed to resolve '/tmp/x\n" + rest).empty());
  const std::string loading = "May  1 01:02:03 n3 kernel: NVRM: loading NVIDIA UNIX\n";
  const std::string words =
      "May  1 01:02:03 n3 mallory[8]: first\n                 " + xid_79 + "\n";
  EXPECT_TRUE(decode(kernel_origin(), loading + words).empty());
  EXPECT_TRUE(
      decode(kernel_origin(), "May  1 01:02:03 n3 mallory[8]: x\n" + xid_79 + "\n").empty());
}

TEST_F(LogDecoderTest, KmsgContinuationLinesAreNotScanned) {
  const auto events =
      decode(kernel_origin(),
             "3,77,5000000,-;usb 1-1: new device\n SUBSYSTEM=" + xid_79 + "\n3,78,5000001,-;ok\n");
  EXPECT_TRUE(events.empty());
}

TEST_F(LogDecoderTest, RepeatsWithinFiveSecondsAreOneEvent) {
  const auto line = [](int second, const char* body) {
    return "[" + std::to_string(second) +
           ".0] NVRM: Xid (PCI:0000:3b:00): 45, pid=7, name=python3, " + body + "\n";
  };
  const auto events = decode(kernel_origin(), line(1, "Ch 00000001") + line(2, "Ch 00000002") +
                                                  line(6, "Ch 00000003") + line(7, "Ch 00000004") +
                                                  line(20, "Ch 00000005"));
  EXPECT_EQ(signatures(events), (Texts{"xid.45", "xid.45", "xid.45"}));
  EXPECT_EQ(events.at(1).field("kernel_us"), "7000000");
  EXPECT_EQ(counters_.get("ingest_coalesced_total"), 2U);
}

TEST_F(LogDecoderTest, AnotherProcessCodeOrMultiprocessorIsNoRepeat) {
  const auto events = decode(kernel_origin(),
                             "[1.0] NVRM: Xid (PCI:0000:3b:00): 45, pid=7, name=python3, Ch 1\n"
                             "[1.0] NVRM: Xid (PCI:0000:3b:00): 45, pid=8, name=python3, Ch 1\n"
                             "[1.0] NVRM: Xid (PCI:0000:3b:00): 43, pid=8, name=python3, Ch 1\n"
                             "[1.0] NVRM: Xid (PCI:0000:3b:00): 13, Graphics SM Warp Exception on "
                             "(GPC 1, TPC 3, SM 0): Out Of Range Address\n"
                             "[1.0] NVRM: Xid (PCI:0000:3b:00): 13, Graphics SM Warp Exception on "
                             "(GPC 1, TPC 3, SM 1): Out Of Range Address\n");
  EXPECT_EQ(signatures(events), (Texts{"xid.45", "xid.45", "xid.43", "xid.13", "xid.13"}));
}

TEST_F(LogDecoderTest, WithoutTimesRepeatsAreThoseNearby) {
  std::string gap;
  for (int i = 0; i < 1000; ++i) gap += "step\n";
  const std::string error = "RuntimeError: CUDA error: unspecified launch failure\n";
  EXPECT_EQ(decode(job_origin(), error + error + gap + error).size(), 2U);
}

TEST_F(LogDecoderTest, AFloodIsCutAndCounted) {
  std::string text;
  for (int i = 0; i < 500; ++i) {
    text +=
        "[1.0] NVRM: Xid (PCI:0000:3b:00): 45, pid=" + std::to_string(i) + ", name=python3, Ch 1\n";
  }
  text += "[1.0] " + xid_79 + "\n";
  const auto events = decode(kernel_origin(), text);
  ASSERT_EQ(events.size(), 202U);
  EXPECT_EQ(events[200].signature, "xid.79") << "what is new in a flood comes through";
  EXPECT_EQ(events[201].kind, EventKind::source_gap);
  EXPECT_EQ(events[201].field("why"), "flood");
  EXPECT_EQ(events[201].field("lines"), "300");
  EXPECT_EQ(events[201].subject.text(), "node:n3");
}

TEST_F(LogDecoderTest, OneEventForEachRankIsNoFlood) {
  Origin batch = job_origin();
  batch.rank = -1;
  std::string text;
  for (int i = 0; i < 1024; ++i)
    text += "[rank" + std::to_string(i) +
            "]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB\n";
  EXPECT_EQ(decode(batch, text).size(), 1024U);
}

TEST_F(LogDecoderTest, LostBytesAreTold) {
  const auto events =
      decode(job_origin(), std::string(100, '\0') + "x\n" + std::string(20'000, 'y') + "\n");
  ASSERT_EQ(signatures(events), (Texts{"source_gap", "source_gap"}));
  EXPECT_EQ(events[0].field("why"), "too_long");
  EXPECT_EQ(events[0].field("bytes"), std::to_string(20'000 - 16 * 1024));
  EXPECT_EQ(events[1].field("why"), "binary");
  EXPECT_EQ(events[1].field("bytes"), "100");
}

TEST_F(LogDecoderTest, LossIsToldAtMostOnceAMinute) {
  LogDecoder log = decoder(job_origin());
  const std::string odd(1, '\0');
  EXPECT_EQ(log.feed(odd + "a\n", 0, now_).size(), 1U);
  EXPECT_EQ(log.feed(odd + "b\n", 3, now_ + std::chrono::seconds{30}).size(), 0U);
  const auto events = log.feed(odd + "c\n", 6, now_ + std::chrono::seconds{61});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].field("lines"), "2");
}

TEST_F(LogDecoderTest, NoFieldNorLineIsLongerThanItsLimit) {
  const auto events = decode(kernel_origin(), "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=" +
                                                  std::string(12'000, 'n') + ", \xff\x01 text\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_LE(events[0].raw.text.size(), raw_text_bytes_max);
  for (const auto& [name, value] : events[0].fields)
    EXPECT_LE(value.size(), field_bytes_max) << name;
}

/// A log with many kinds of lines, from the tree's own cases.
std::string mixed_log(const std::string& head) {
  std::string text;
  for (const auto* name : {"nvidia_xid", "nvidia_driver", "nvswitch", "torch", "slurm"}) {
    std::ifstream stream(FAULTLINE_SOURCE_DIR "/tests/cases/signatures/" + std::string(name) +
                         ".case");
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with("fires ")) text += head + line.substr(6) + "\n";
    }
  }
  return text;
}

/// One line an event, without what only continuation lines in the same call can add.
Texts summary(const std::vector<Event>& events) {
  Texts out;
  for (const auto& event : events) {
    std::string text = event.id + " " + event.signature + " " + event.subject.text();
    for (const auto& [name, value] : event.fields) {
      if (name != "severity_code" && name != "data") text += " " + name + "=" + value;
    }
    out.push_back(text);
  }
  return out;
}

TEST_F(LogDecoderTest, TheEventsAreTheSameHoweverTheBytesAreCut) {
  const DecoderLimits unlimited{std::chrono::seconds{5}, 1000, 1'000'000, 1'000'000};
  Rng rng(5);
  for (const bool kernel : {true, false}) {
    const Origin origin = kernel ? kernel_origin() : job_origin();
    const std::string text = mixed_log(kernel ? "" : "2026-03-01T11:59:00.5Z n3 rank3 | ");
    const auto expected = summary(decode(origin, text, unlimited));
    ASSERT_GT(expected.size(), 40U);
    for (int round = 0; round < 4; ++round) {
      LogDecoder log = decoder(origin, unlimited);
      std::vector<Event> events;
      const auto take = [&events](std::vector<Event> more) {
        events.insert(events.end(), more.begin(), more.end());
      };
      for (std::size_t at = 0; at < text.size();) {
        const auto step = std::min(text.size() - at, 1 + rng.below(round == 0 ? 40 : 5000));
        take(log.feed(std::string_view(text).substr(at, step), at, now_));
        at += step;
      }
      take(log.finish(now_));
      EXPECT_EQ(summary(events), expected);
    }
  }
}

TEST_F(LogDecoderTest, RandomBytesMakeNoEventsAndNoHarm) {
  Rng rng(13);
  for (const Origin& origin : {kernel_origin(), job_origin()}) {
    std::string bytes(1 << 20, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.next());
    for (const auto& event : decode(origin, bytes)) EXPECT_EQ(event.kind, EventKind::source_gap);
  }
}

TEST_F(LogDecoderTest, AHundredMegabytesWithoutALineEnd) {
  LogDecoder log = decoder(job_origin());
  const std::string chunk(1 << 20, 'x');
  std::uint64_t offset = 0;
  for (int i = 0; i < 100; ++i, offset += chunk.size())
    EXPECT_TRUE(log.feed(chunk, offset, now_).empty());
  const auto events =
      log.feed("\nRuntimeError: CUDA error: unspecified launch failure\n", offset, now_);
  EXPECT_EQ(signatures(events), (Texts{"cuda.launch", "source_gap"}));
}

TEST_F(LogDecoderTest, AJumpInOffsetsLosesNothingElse) {
  LogDecoder log = decoder(kernel_origin());
  EXPECT_TRUE(log.feed(xid_79, 0, now_).empty());
  const auto events = log.feed("next\n", 5000, now_);
  EXPECT_EQ(signatures(events), Texts{"xid.79"});
}

TEST_F(LogDecoderTest, SourcesWithoutLogsGiveNothing) {
  Origin origin = kernel_origin();
  origin.source = EventSource::nvml;
  EXPECT_TRUE(decode(origin, xid_79 + "\n").empty());
}

}  // namespace
}  // namespace faultline
