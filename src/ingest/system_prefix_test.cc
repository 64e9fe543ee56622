#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"
#include "ingest/line_prefix.h"

namespace faultline {
namespace {

constexpr std::string_view xid =
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.";

struct Form {
  const char* name;
  std::string head;
  TimeForm time_form;
  std::string time;
  std::string host;
  std::string program;
};

class SystemPrefix : public testing::TestWithParam<Form> {};

TEST_P(SystemPrefix, IsTakenOffAndRead) {
  const Form& form = GetParam();
  const std::string line = form.head + std::string(xid);
  const LinePrefix prefix = parse_system_prefix(line);
  EXPECT_EQ(line.substr(prefix.body), xid);
  EXPECT_EQ(prefix.time_form, form.time_form);
  EXPECT_EQ(prefix.time, form.time);
  EXPECT_EQ(prefix.host, form.host);
  EXPECT_EQ(prefix.program, form.program);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, SystemPrefix,
    testing::Values(
        Form{"bare", "", TimeForm::none, "", "", ""},
        Form{"said_twice", "Oct 02 09:14:02 n3 slurmctld[8]: slurmctld: ", TimeForm::month_day,
             "Oct 02 09:14:02", "n3", "slurmctld"},
        Form{"pdsh", "n3: [   12.345678] ", TimeForm::kernel_seconds, "12.345678", "n3", ""},
        Form{"clush", "n3: Oct 02 09:14:02 gpu-n3 kernel: ", TimeForm::month_day, "Oct 02 09:14:02",
             "gpu-n3", "kernel"},
        Form{"grep", "/var/log/kern.log:Oct 02 09:14:02 n3 kernel: ", TimeForm::month_day,
             "Oct 02 09:14:02", "n3", "kernel"},
        Form{"kubectl", "[pod/reader-7k2lq/main] kern  :err   : [   12.345678] ",
             TimeForm::kernel_seconds, "12.345678", "", ""},
        Form{"kmsg", "6,1234,5678901,-;", TimeForm::kernel_micros, "5678901", "", ""},
        Form{"kmsg_caller", "4,9,12,-,caller=T1946;", TimeForm::kernel_micros, "12", "", ""},
        Form{"dmesg", "[901233.11] ", TimeForm::kernel_seconds, "901233.11", "", ""},
        Form{"dmesg_padded", "[    7.812001] ", TimeForm::kernel_seconds, "7.812001", "", ""},
        Form{"dmesg_caller", "[    7.812001][ T1946] ", TimeForm::kernel_seconds, "7.812001", "",
             ""},
        Form{"dmesg_raw", "<4>[  901233.11] ", TimeForm::kernel_seconds, "901233.11", "", ""},
        Form{"dmesg_wall", "[Wed Nov  5 11:20:01 2025] ", TimeForm::ctime,
             "Wed Nov  5 11:20:01 2025", "", ""},
        Form{"dmesg_wall_caller", "[Sun Mar 22 15:24:18 2025] [   C12] ", TimeForm::ctime,
             "Sun Mar 22 15:24:18 2025", "", ""},
        Form{"dmesg_iso", "2025-02-11T03:21:44,283302+00:00 ", TimeForm::iso,
             "2025-02-11T03:21:44,283302+00:00", "", ""},
        Form{"dmesg_x_iso", "kern  :warn  : 2025-02-11T03:21:44,283302+00:00 ", TimeForm::iso,
             "2025-02-11T03:21:44,283302+00:00", "", ""},
        Form{"dmesg_x", "kern  :err   : [  123.456789] ", TimeForm::kernel_seconds, "123.456789",
             "", ""},
        Form{"dmesg_x_wall", "kern  :err   : [Wed Nov  5 11:20:01 2025] ", TimeForm::ctime,
             "Wed Nov  5 11:20:01 2025", "", ""},
        Form{"syslog", "Oct 02 09:14:02 gpu-node-007 kernel: ", TimeForm::month_day,
             "Oct 02 09:14:02", "gpu-node-007", "kernel"},
        Form{"syslog_space_day", "Oct  2 09:14:02 n7 kernel: [ 7.812001] ", TimeForm::month_day,
             "Oct  2 09:14:02", "n7", "kernel"},
        Form{"syslog_caller", "Oct  2 09:14:02 n7 kernel: [ 7.812001] [ T1946] ",
             TimeForm::month_day, "Oct  2 09:14:02", "n7", "kernel"},
        Form{"journal_precise", "Oct 02 09:14:02.123456 n7 kernel: ", TimeForm::month_day,
             "Oct 02 09:14:02.123456", "n7", "kernel"},
        Form{"syslog_iso", "2025-02-11T03:21:44.283302+01:00 n7.example.org kernel: [12.5] ",
             TimeForm::iso, "2025-02-11T03:21:44.283302+01:00", "n7.example.org", "kernel"},
        Form{"journal_iso", "2025-02-11T03:21:44+0000 n7 kernel: ", TimeForm::iso,
             "2025-02-11T03:21:44+0000", "n7", "kernel"},
        Form{"journal_monotonic", "[    7.812001] n7 kernel: ", TimeForm::kernel_seconds,
             "7.812001", "n7", "kernel"},
        Form{"rfc5424", "<4>1 2025-02-11T03:21:44.283Z n7 kernel - - - ", TimeForm::iso,
             "2025-02-11T03:21:44.283Z", "n7", "kernel"},
        Form{"rfc5424_data", "<165>1 2025-02-11T03:21:44.283Z n7 kernel 12 ID47 [a@1 b=\"c\"] ",
             TimeForm::iso, "2025-02-11T03:21:44.283Z", "n7", "kernel"},
        Form{"no_hostname", "Oct 02 09:14:02 kernel: [ 7.812001] ", TimeForm::month_day,
             "Oct 02 09:14:02", "", "kernel"},
        Form{"no_names", "2025-02-11T03:21:44.283Z ", TimeForm::iso, "2025-02-11T03:21:44.283Z", "",
             ""},
        Form{"bare_kernel", "kernel: ", TimeForm::none, "", "", "kernel"},
        Form{"bare_kernel_stamp", "kernel: [ 7.812001] ", TimeForm::kernel_seconds, "7.812001", "",
             "kernel"},
        Form{"dmesg_delta", "[ 1843.439662 <    0.000013>] ", TimeForm::kernel_seconds,
             "1843.439662", "", ""},
        Form{"dmesg_human_minute", "[Sep26 10:33] ", TimeForm::none, "", "", ""},
        Form{"dmesg_human_delta", "[  +0.000012] ", TimeForm::none, "", "", ""},
        Form{"rfc5424_without_priority", "1 2025-02-11T03:21:44.283Z n7 kernel - - - ",
             TimeForm::iso, "2025-02-11T03:21:44.283Z", "n7", "kernel"},
        Form{"journal_full", "Thu 2025-05-01 01:02:03 UTC n7 kernel: ", TimeForm::iso,
             "2025-05-01 01:02:03", "n7", "kernel"},
        Form{"journal_unix", "1746061323.123456 n7 kernel: ", TimeForm::unix_seconds,
             "1746061323.123456", "n7", "kernel"},
        Form{"talos", "10.4.1.9: kern: warning: [2026-04-22T21:27:51.291660856Z]: ", TimeForm::iso,
             "2026-04-22T21:27:51.291660856Z", "10.4.1.9", "kernel"},
        Form{"talos_user", "10.4.1.9: user: notice: [2026-04-22T21:27:51.291660856Z]: ",
             TimeForm::iso, "2026-04-22T21:27:51.291660856Z", "10.4.1.9", "user"},
        Form{"busybox", "May  1 01:02:03 n7 kern.warn kernel: [ 7.812001] ", TimeForm::month_day,
             "May  1 01:02:03", "n7", "kernel"},
        Form{"fabric_manager", "[Nov 05 2025 14:44:42] [ERROR] [tid 4177] ",
             TimeForm::month_day_year, "Nov 05 2025 14:44:42", "", ""},
        Form{"other_program", "Oct 02 09:14:02 n7 logger[812]: ", TimeForm::month_day,
             "Oct 02 09:14:02", "n7", "logger"}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(SystemPrefix, ANodeDaemonsNameIsPartOfWhatItSays) {
  const std::string line = "Oct 02 09:14:02 n7 nv-fabricmanager[812]: " + std::string(xid);
  const LinePrefix prefix = parse_system_prefix(line);
  EXPECT_EQ(prefix.host, "n7");
  EXPECT_EQ(prefix.program, "nv-fabricmanager");
  EXPECT_EQ(line.substr(prefix.body), "nv-fabricmanager[812]: " + std::string(xid));
  EXPECT_FALSE(is_node_daemon("logger"));
}

TEST(SystemPrefix, ATimeWithItsYearIsNoFabricManagersByItself) {
  EXPECT_EQ(parse_system_prefix("[Nov 05 2025 14:44:42] [ERROR] step 3").body, 0U);
}

/// logger names any program, but not the kernel's facility.
TEST(SystemPrefix, AFacilityTellsWhoIsNotTheKernel) {
  EXPECT_EQ(parse_system_prefix("May  1 01:02:03 n7 user.notice kernel: text").program, "user");
}

TEST(SystemPrefix, KmsgHasASequence) {
  EXPECT_EQ(parse_system_prefix("6,1234,5678901,-;text").sequence, 1234U);
  EXPECT_EQ(parse_system_prefix("6,99999999999999999999,1,-;text").sequence, std::nullopt);
}

TEST(SystemPrefix, SlurmdNamesTheStep) {
  const std::string line =
      "[2020-12-20T09:43:55.500] [53532.0] error: *** STEP 53532.0 ON n1 CANCELLED";
  const LinePrefix prefix = parse_system_prefix(line);
  EXPECT_EQ(prefix.time, "2020-12-20T09:43:55.500");
  EXPECT_EQ(prefix.step, "53532.0");
  EXPECT_EQ(line.substr(prefix.body), "error: *** STEP 53532.0 ON n1 CANCELLED");
  EXPECT_EQ(parse_system_prefix("[2020-12-20T09:43:55] [53532_7.batch] x").step, "53532_7.batch");
  EXPECT_EQ(parse_system_prefix("[2020-12-20T09:43:55.500] sched: x").step, "");
}

/// Driver names and PCI addresses look like hosts and programs.
TEST(SystemPrefix, LeavesTheKernelsOwnWordsAlone) {
  for (const std::string body :
       {"mlx5_core 0000:63:00.0: Port module event: module 0", "EDAC MC0: 2 CE memory read error",
        "nvidia-nvswitch0: SXid (PCI:0000:06:00.0): 20034, Fatal", "pcieport 0000:40:01.1: AER: x",
        "watchdog: BUG: soft lockup", "nfs: server 10.0.0.1 not responding",
        "{1}[Hardware Error]: event severity: fatal", "nfs: server: is: [x]: y",
        "   device [1022:1483] error status"}) {
    for (const std::string head :
         {"", "6,1,2,-;", "[    7.812001] ", "kern  :warn  : 2025-02-11T03:21:44,283302+00:00 ",
          "2025-02-11T03:21:44,283302+00:00 ",
          "Oct 02 09:14:02 n7 kernel: ", "2025-02-11T03:21:44.283302+00:00 n7 kernel: "}) {
      const std::string line = head + body;
      EXPECT_EQ(line.substr(parse_system_prefix(line).body), body) << line;
    }
  }
}

TEST(SystemPrefix, WhoWroteItIsOnlyKnownFromSyslog) {
  EXPECT_TRUE(parse_system_prefix("Oct 02 09:14:02 n7 dhclient[2110]: DHCPACK (xid=0x5f3a9c1)")
                  .from_syslog);
  EXPECT_TRUE(parse_system_prefix("Oct 02 09:14:02 n7 last message repeated 2 times").from_syslog);
  EXPECT_FALSE(parse_system_prefix("2025-02-11T03:21:44.283Z NVRM: text").from_syslog);
  EXPECT_FALSE(parse_system_prefix("[    7.812001] text").from_syslog);
  EXPECT_TRUE(parse_system_prefix("[    7.812001] text").from_dmesg);
  EXPECT_FALSE(parse_system_prefix("Oct 02 09:14:02 n7 kernel: text").from_dmesg);
}

TEST(SystemPrefix, ContinuationLinesOfKmsg) {
  EXPECT_TRUE(is_kmsg_continuation(" SUBSYSTEM=pci"));
  EXPECT_TRUE(is_kmsg_continuation(" DEVICE=+pci:0000:3b:00.0"));
  EXPECT_FALSE(is_kmsg_continuation("SUBSYSTEM=pci"));
  EXPECT_FALSE(is_kmsg_continuation("   [12] Timeout"));
  EXPECT_FALSE(is_kmsg_continuation(""));
}

/// Every cut and every changed byte of every form: nothing may be read outside the line.
TEST(SystemPrefix, AnyBytesAreALine) {
  Rng rng(11);
  const std::string source =
      "<4>1 2025-02-11T03:21:44.283Z n7 kernel - - [a] [ 7.8] 6,1,2,-;kern  :warn  : [Wed Nov  5 "
      "11:20:01 2025] Oct 02 09:14:02 n7 "
      "kernel: [2020-12-20T09:43:55.500] [53532.0] [Sep26 10:33] [  +0.000012] 1746061323.123456 "
      "n7: "
      "kern: err: [2026-04-22T21:27:51.2Z]: [ 1.4 <    0.1>] ";
  for (int round = 0; round < 50'000; ++round) {
    const auto start = rng.below(source.size());
    std::string line = source.substr(start, rng.below(80));
    for (std::uint64_t changes = rng.below(3); changes > 0 && !line.empty(); --changes) {
      line[rng.below(line.size())] = static_cast<char>(rng.below(256));
    }
    const std::string tight(line);  // no room behind it, so that the sanitizer sees a step too far
    ASSERT_LE(parse_system_prefix(tight).body, tight.size());
    ASSERT_LE(parse_job_prefix(tight, {}).body, tight.size());
    is_kmsg_continuation(tight);
  }
}

TEST(SystemPrefixOfRelays, OnlyBeforeALineThatHasATime) {
  for (const std::string line : {"nvme: Device not ready", "n3: no time here", "audit: type=1400",
                                 "[pod/a/b] text", "word:[   12.345678] glued"})
    EXPECT_EQ(parse_system_prefix(line).body, 0U) << line;
}

}  // namespace
}  // namespace faultline
