// What nvidia-smi -q prints of one machine, in the spellings of its drivers, and what is told of
// it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "ingest/nvidia_smi_text.h"
#include "ingest/nvidia_smi_xml.h"

namespace faultline {
namespace {

using Texts = std::vector<std::string>;

Instant at(std::string_view text) { return parse_instant(text).value_or(Instant{}); }

Origin origin_of(const std::string& node) {
  Origin origin;
  origin.node = node;
  origin.path = "smi.txt";
  origin.last_written = at("2026-11-18T00:00:00Z");
  return origin;
}

/// "gpu_sample gpu:n3/0000:3b:00.0 remap_pending=1", without what only says which card it is.
std::string brief(const Event& event) {
  std::string text = std::string(to_text(event.kind)) + " " + event.subject.text();
  for (const auto& [name, value] : event.fields) {
    const bool card = event.kind == EventKind::gpu_sample && name.starts_with("gpu_");
    if (!card) text += " " + name + "=" + value;
  }
  return text;
}

Texts briefs(const std::vector<Event>& events) {
  Texts out;
  for (const Event& event : events) out.push_back(brief(event));
  return out;
}

std::vector<Event> decode_text(std::string_view text, std::size_t chunk = 4096,
                               const std::string& node = "n3") {
  Counters counters;
  NvidiaSmiTextDecoder decoder(origin_of(node), counters);
  std::vector<Event> events;
  for (std::size_t from = 0; from < text.size(); from += chunk) {
    for (auto& event : decoder.feed(text.substr(from, chunk), from))
      events.push_back(std::move(event));
  }
  for (auto& event : decoder.finish()) events.push_back(std::move(event));
  return events;
}

std::vector<Event> decode_xml(std::string_view text, Counters* counters = nullptr) {
  Counters own;
  return decode_nvidia_smi_xml(text, origin_of("n3"), counters != nullptr ? *counters : own);
}

/// The samples alone.
Texts samples(const std::vector<Event>& events) {
  Texts out;
  for (const Event& event : events) {
    if (event.kind == EventKind::gpu_sample) out.push_back(brief(event));
  }
  return out;
}

constexpr std::string_view head = R"(
==============NVSMI LOG==============

Timestamp                                 : Tue Nov 17 10:22:31 2026
Driver Version                            : 535.104.05
CUDA Version                              : 12.2

Attached GPUs                             : 2
)";

std::string gpu(const std::string& address, const std::string& readings) {
  return "GPU " + address +
         "\n    Product Name                          : NVIDIA H100 80GB HBM3\n"
         "    Serial Number                         : 1654922006536\n"
         "    GPU UUID                              : GPU-1f6d6f5e\n"
         "    Minor Number                          : 5\n" +
         readings + "\n";
}

std::string report(const std::string& readings) {
  return std::string(head) + gpu("00000000:3B:00.0", readings);
}

constexpr std::string_view healthy_535 = R"(    GPU Recovery Action                   : None
    MIG Mode
        Current                           : Disabled
    PCI
        Bus                               : 0x3B
        Bus Id                            : 00000000:3B:00.0
    Clocks Event Reasons
        Idle                              : Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Not Active
        SW Thermal Slowdown               : Not Active
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 0
            DRAM Correctable              : 177
            DRAM Uncorrectable            : 0
        Aggregate
            SRAM Correctable              : 2
            SRAM Uncorrectable Parity     : 0
            SRAM Uncorrectable SEC-DED    : 0
            DRAM Correctable              : 177
            DRAM Uncorrectable            : 3
            SRAM Threshold Exceeded       : No
        Aggregate Uncorrectable SRAM Sources
            SRAM L2                       : 0
            SRAM SM                       : 0
    Retired Pages
        Single Bit ECC                    : N/A
        Double Bit ECC                    : N/A
        Pending Page Blacklist            : N/A
    Remapped Rows
        Correctable Error                 : 0
        Uncorrectable Error               : 2
        Pending                           : No
        Remapping Failure Occurred        : No
        Bank Remap Availability Histogram
            Max                           : 639 bank(s)
    Temperature
        GPU Current Temp                  : 34 C
        GPU Shutdown Temp                 : 92 C
        GPU Slowdown Temp                 : 89 C)";

TEST(NvidiaSmiText, AHealthyGpuIsNamedAndNothingElse) {
  const auto events = decode_text(report(std::string(healthy_535)));
  EXPECT_EQ(briefs(events), (Texts{"gpu_identity gpu:n3/0000:3b:00.0 index=0 serial=1654922006536 "
                                   "uuid=GPU-1f6d6f5e"}))
      << "errors of before the driver was loaded, and rows that were remapped, are history";
  EXPECT_EQ(events[0].source, EventSource::nvml);
  EXPECT_EQ(to_text(events[0].observed_at), "2026-11-17T10:22:31.000000Z");
  EXPECT_EQ(events[0].clock, ClockDomain::node_wall);
  EXPECT_EQ(events[0].raw.text, "GPU 00000000:3B:00.0");
  EXPECT_EQ(events[0].raw.offset, head.size());
  EXPECT_EQ(events[0].id, make_event_id(events[0]));
}

/// The healthy report with one line of it changed.
std::string with(const std::string& before, const std::string& after) {
  std::string text = report(std::string(healthy_535));
  const auto found = text.find(before);
  EXPECT_NE(found, std::string::npos) << before;
  return text.replace(found, before.size(), after);
}

TEST(NvidiaSmiText, TellsWhatIsBadNow) {
  const std::string usual =
      " remapped_rows_uncorrected=2 shutdown_temperature_c=92 slowdown_temperature_c=89 "
      "temperature_c=34";
  const auto sample = [&](const std::string& before, const std::string& after) {
    return samples(decode_text(with(before, after)));
  };
  const std::string about = "gpu_sample gpu:n3/0000:3b:00.0 ";
  EXPECT_EQ(sample("Remapping Failure Occurred        : No", "Remapping Failure Occurred : Yes"),
            Texts{about + "remap_failed=1" + usual});
  EXPECT_EQ(sample("        Pending                           : No", "        Pending : Yes"),
            Texts{about + "remap_pending=1" + usual});
  EXPECT_EQ(sample("Recovery Action                   : None", "Recovery Action : Reset"),
            Texts{about + "recovery_action=1" + usual});
  EXPECT_EQ(sample("Recovery Action                   : None", "Recovery Action : Drain and Reset"),
            Texts{about + "recovery_action=4" + usual});
  EXPECT_EQ(sample("Recovery Action                   : None", "Recovery Action : Replace"),
            Texts{about + "recovery_action=5" + usual})
      << "a word that is not known yet";
  EXPECT_EQ(sample("DRAM Uncorrectable            : 0", "DRAM Uncorrectable : 1"),
            Texts{about + "ecc_uncorrected_new=1 ecc_uncorrected_total=3" + usual})
      << "since the driver was loaded";
  EXPECT_EQ(sample("HW Thermal Slowdown           : Not Active", "HW Thermal Slowdown : Active"),
            (Texts{about + "attached_gpus=2 remapped_rows_uncorrected=2 shutdown_temperature_c=92 "
                           "slowdown_temperature_c=89 temperature_c=34 throttle=hw_thermal"}))
      << "whether it holds all of them down, their number tells";
  EXPECT_EQ(sample("Threshold Exceeded       : No", "Threshold Exceeded : Yes"),
            (Texts{about + "remapped_rows_uncorrected=2 shutdown_temperature_c=92 "
                           "slowdown_temperature_c=89 sram_threshold_exceeded=1 "
                           "temperature_c=34"}));
}

TEST(NvidiaSmiText, ALookAlikeIsQuiet) {
  EXPECT_TRUE(samples(decode_text(with("SW Power Cap                      : Active",
                                       "SW Power Cap : Active\n        Sync Boost : Active")))
                  .empty());
  EXPECT_TRUE(samples(decode_text(with("GPU Recovery Action                   : None",
                                       "GPU Recovery Action : N/A")))
                  .empty());
  EXPECT_TRUE(samples(decode_text(with("        Pending                           : No",
                                       "        Pending : N/A")))
                  .empty());
  // The same words in another section: the mode that is pending, and how long it was throttled.
  EXPECT_TRUE(samples(decode_text(with("        Current                           : Disabled",
                                       "        Current : Disabled\n        Pending : Yes")))
                  .empty());
  EXPECT_TRUE(samples(decode_text(with("    ECC Errors\n",
                                       "    Clocks Event Reasons Counters\n"
                                       "        HW Slowdown : Active\n"
                                       "    ECC Errors\n")))
                  .empty());
}

TEST(NvidiaSmiText, OlderDriversSpellItOtherwise) {
  const std::string driver_470 = report(R"(    Clocks Throttle Reasons
        Idle                              : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Active
    Ecc Mode
        Current                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 1
            DRAM Correctable              : 0
            DRAM Uncorrectable            : 2
        Aggregate
            SRAM Uncorrectable            : 1
            DRAM Uncorrectable            : 4)");
  EXPECT_EQ(samples(decode_text(driver_470)),
            Texts{"gpu_sample gpu:n3/0000:3b:00.0 attached_gpus=2 ecc_uncorrected_new=3 "
                  "ecc_uncorrected_total=5 "
                  "throttle=hw_slowdown,hw_power_brake"});
  const std::string volta = report(R"(    ECC Errors
        Volatile
            Single Bit
                Device Memory             : 7
                Total                     : 7
            Double Bit
                Device Memory             : 1
                Register File             : 1
                Total                     : 2
        Aggregate
            Double Bit
                Total                     : 9
    Retired Pages
        Single Bit ECC                    : 2
        Double Bit ECC                    : 1
        Pending Page Blacklist            : Yes)");
  EXPECT_EQ(samples(decode_text(volta)),
            Texts{"gpu_sample gpu:n3/0000:3b:00.0 ecc_uncorrected_new=2 ecc_uncorrected_total=9 "
                  "page_retirement_pending=1"});
}

TEST(NvidiaSmiText, AGpuThatIsLost) {
  const std::string text = report(R"(    Fan Speed                             : GPU is lost
    ECC Errors
        Volatile
            DRAM Uncorrectable            : GPU is lost)");
  const auto events = decode_text(text);
  EXPECT_EQ(samples(events), Texts{"gpu_sample gpu:n3/0000:3b:00.0 lost=1 unreadable=2"});
  EXPECT_NE(events.back().raw.text.find("Fan Speed"), std::string::npos);
  EXPECT_EQ(events.back().raw.offset, text.find("    Fan Speed"));
  EXPECT_EQ(samples(decode_text(report("    Fan Speed       : [Unknown Error]"))),
            Texts{"gpu_sample gpu:n3/0000:3b:00.0 unreadable=1"})
      << "one reading that failed is no lost GPU";
}

TEST(NvidiaSmiText, AGpuThatCannotBeAsked) {
  for (const std::string name :
       {"GPU 0000:CB:00.0", "GPU0000:CB:00.0", "gpu 0000:cb:00.0", "GPU4: 0000:CB:00.0"}) {
    EXPECT_EQ(briefs(decode_text("Unable to determine the device handle for " + name +
                                 ": GPU is lost.  Reboot the system to recover this GPU\n")),
              Texts{"gpu_sample gpu:n3/0000:cb:00.0 error=GPU is lost.  Reboot the system to "
                    "recover this GPU lost=1"});
  }
  EXPECT_TRUE(
      decode_text("Unable to determine the device handle for GPU 0: Unknown Error\n").empty());
  EXPECT_TRUE(decode_text("Unable to determine the device handle for\n").empty());
}

TEST(NvidiaSmiText, ReadsTheTable) {
  const std::string table =
      "Tue Nov 17 10:22:31 2026       \n"
      "+-----------------------------------------------------------------------------------------+"
      "\n"
      "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     "
      "|\n"
      "|-----------------------------------------+------------------------+----------------------+"
      "\n"
      "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC "
      "|\n"
      "|=========================================+========================+======================|"
      "\n"
      "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:07:00.0 Off |                    0 "
      "|\n"
      "| N/A   31C    P0             69W /  700W |       1MiB /  81559MiB |      0%      Default "
      "|\n"
      "|                                         |                        |             Disabled "
      "|\n"
      "+-----------------------------------------+------------------------+----------------------+"
      "\n"
      "|   1  NVIDIA H100 80GB HBM3          On  |   00000000:3B:00.0 Off |                    2 "
      "|\n"
      "| N/A   31C    P0             69W /  700W |       1MiB /  81559MiB |      0%      Default "
      "|\n"
      "+-----------------------------------------+------------------------+----------------------+"
      "\n"
      "|   2  NVIDIA H100 80GB HBM3          On  |   00000000:5E:00.0 Off |                 ERR! "
      "|\n"
      "|ERR!  ERR! ERR!             ERR! /  ERR! |       1MiB /  81559MiB |    ERR!      Default "
      "|\n"
      "+-----------------------------------------+------------------------+----------------------+"
      "\n"
      "| Processes:                                                                              "
      "|\n"
      "|    0   N/A  N/A      4711      C   python ERR!                                 512MiB   "
      "|\n"
      "+-----------------------------------------------------------------------------------------+"
      "\n";
  const auto events = decode_text(table);
  EXPECT_EQ(briefs(events), (Texts{"gpu_sample gpu:n3/0000:3b:00.0 ecc_uncorrected_new=2",
                                   "gpu_sample gpu:n3/0000:5e:00.0 unreadable=2"}))
      << "it names no card, only its place";
  EXPECT_EQ(to_text(events[0].observed_at), "2026-11-17T10:22:31.000000Z");
}

TEST(NvidiaSmiText, CountsTheGpusOfEachReport) {
  const std::string two = std::string(head) + gpu("00000000:3B:00.0", "") +
                          gpu("00000000:5E:00.0", "") + std::string(head) +
                          gpu("00000000:5E:00.0", "");
  const auto events = decode_text(two);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].field("index"), "0");
  EXPECT_EQ(events[1].field("index"), "1");
  EXPECT_EQ(events[2].field("index"), "0");
}

TEST(NvidiaSmiText, IsTheSameHoweverTheBytesAreCut) {
  const std::string text =
      with("        Pending                           : No", "        Pending : Yes");
  const auto whole = decode_text(text);
  for (std::size_t chunk = 1; chunk < 200; chunk += 9) EXPECT_EQ(decode_text(text, chunk), whole);
}

TEST(NvidiaSmiText, ANodeThatNobodyNamedIsUnknown) {
  const auto events = decode_text(report(""), 4096, "");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].subject.node, "unknown");
  EXPECT_EQ(events[0].reporter, "");
}

TEST(NvidiaSmiText, AddressesThatCannotBeAreCounted) {
  Counters counters;
  NvidiaSmiTextDecoder decoder(origin_of("n3"), counters);
  decoder.feed(std::string(head) + gpu("zz:99:00.0", "    GPU Recovery Action : Reset"), 0);
  EXPECT_TRUE(decoder.finish().empty());
  EXPECT_EQ(counters.get("ingest_gpu_report_bad_address_total"), 1U);
}

std::string xml(const std::string& readings) {
  return "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
         "<nvidia_smi_log>\n\t<timestamp>Tue Nov 17 10:22:31 2026</timestamp>\n"
         "\t<attached_gpus>1</attached_gpus>\n\t<gpu id=\"00000000:3B:00.0\">\n"
         "\t\t<product_name>NVIDIA H100 80GB HBM3</product_name>\n"
         "\t\t<serial>1654922006536</serial>\n\t\t<uuid>GPU-1f6d6f5e</uuid>\n" +
         readings + "\t</gpu>\n</nvidia_smi_log>\n";
}

TEST(NvidiaSmiXml, SaysTheSameAsTheText) {
  const std::string text = xml(R"(    <gpu_recovery_action>Reboot</gpu_recovery_action>
    <clocks_event_reasons>
      <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
      <clocks_event_reason_sw_thermal_slowdown>Active</clocks_event_reason_sw_thermal_slowdown>
    </clocks_event_reasons>
    <ecc_errors>
      <volatile>
        <sram_correctable>0</sram_correctable>
        <sram_uncorrectable_parity>1</sram_uncorrectable_parity>
        <dram_uncorrectable>1</dram_uncorrectable>
      </volatile>
      <aggregate>
        <dram_uncorrectable>5</dram_uncorrectable>
      </aggregate>
    </ecc_errors>
    <remapped_rows>
      <remapped_row_unc>1</remapped_row_unc>
      <remapped_row_pending>Yes</remapped_row_pending>
      <remapped_row_failure>Yes</remapped_row_failure>
    </remapped_rows>
    <temperature><gpu_temp>88 C</gpu_temp></temperature>
)");
  const auto events = decode_xml(text);
  EXPECT_EQ(briefs(events),
            (Texts{"gpu_identity gpu:n3/0000:3b:00.0 index=0 serial=1654922006536 "
                   "uuid=GPU-1f6d6f5e",
                   "gpu_sample gpu:n3/0000:3b:00.0 ecc_uncorrected_new=2 ecc_uncorrected_total=5 "
                   "recovery_action=2 remap_failed=1 remap_pending=1 remapped_rows_uncorrected=1 "
                   "temperature_c=88 throttle=sw_thermal"}));
  EXPECT_EQ(to_text(events[1].observed_at), "2026-11-17T10:22:31.000000Z");
  EXPECT_EQ(events[1].raw.text, "<gpu_recovery_action>Reboot</gpu_recovery_action>");
  EXPECT_EQ(events[1].raw.offset, text.find("    <gpu_recovery_action>"));
}

TEST(NvidiaSmiXml, OlderDriversSpellItOtherwise) {
  EXPECT_EQ(samples(decode_xml(xml(R"(    <clocks_throttle_reasons>
      <clocks_throttle_reason_hw_slowdown>Active</clocks_throttle_reason_hw_slowdown>
    </clocks_throttle_reasons>
    <ecc_errors><volatile><double_bit><device_memory>1</device_memory><total>1</total></double_bit>
    </volatile></ecc_errors>
    <retired_pages><pending_retirement>Yes</pending_retirement></retired_pages>
)"))),
            Texts{"gpu_sample gpu:n3/0000:3b:00.0 ecc_uncorrected_new=1 "
                  "page_retirement_pending=1 throttle=hw_slowdown"});
}

TEST(NvidiaSmiXml, KeepsTheGpusBeforeTheDamage) {
  Counters counters;
  const std::string text = xml("");
  EXPECT_EQ(decode_xml(text.substr(0, text.find("</nvidia_smi_log>")), &counters).size(), 1U);
  EXPECT_EQ(decode_xml(text.substr(0, text.find("\t</gpu>")), &counters).size(), 0U);
  EXPECT_EQ(counters.get("ingest_xml_broken_total"), 2U);
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_LE(decode_xml(std::string_view(text).substr(0, length)).size(), 1U);
}

TEST(NvidiaSmiXml, AMigDevicesReadingsAreNotTheGpus) {
  EXPECT_TRUE(samples(decode_xml(xml("<mig_devices><mig_device><ecc_errors><volatile>"
                                     "<sram_uncorrectable>3</sram_uncorrectable></volatile>"
                                     "</ecc_errors></mig_device></mig_devices>\n")))
                  .empty());
}

}  // namespace
}  // namespace faultline
