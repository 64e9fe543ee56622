// What people and programs are shown: complete, and harmless whatever stood in a log.
#include "diagnose/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace faultline {
namespace {

using nlohmann::json;

constexpr Instant noon{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1} +
                       std::chrono::hours{12}};

Diagnosis ecc_on_n3() {
  Diagnosis diagnosis;
  diagnosis.run = "job 77";
  diagnosis.folder = "logs";
  diagnosis.files = 4;
  diagnosis.status = DiagnosisStatus::attributed;
  diagnosis.cause_class = CauseClass::gpu;
  diagnosis.cause = "gpu.ecc_uncorrectable";
  diagnosis.summary = "GPU memory error that ECC could not correct";
  diagnosis.rule = "kernel_fault";
  diagnosis.subjects = {Subject::of_gpu("n3", "0000:3b:00.0")};
  diagnosis.confidence = 0.95;
  diagnosis.evict = true;
  diagnosis.explanation = "The driver of n3 reported it four seconds before rank 9 failed.";
  diagnosis.action = "Drain the node.";
  diagnosis.commands = {"scontrol update NodeName=n3 State=DRAIN Reason=ecc"};
  diagnosis.evidence = {{"kern.log", 41, "NVRM: Xid (PCI:0000:3b:00): 48", noon,
                         EventSource::kernel_log, Subject::of_node("n3")}};
  TimelineEntry first;
  first.at = noon;
  first.role = TimelineRole::first_cause;
  first.subject = diagnosis.subjects.front();
  first.what = diagnosis.summary;
  first.place = "kern.log:41";
  TimelineEntry then = first;
  then.at = noon + std::chrono::seconds{4};
  then.role = TimelineRole::consequence;
  then.subject = Subject::of_rank({"77", 0}, 9);
  then.what = "a process ended with an error";
  then.repeats = 30;
  diagnosis.timeline = {first, then};
  return diagnosis;
}

std::string text_of(const Diagnosis& diagnosis) {
  return report_text(diagnosis, {.width = 60, .colour = false});
}

TEST(ReportText, SaysWhatWhereHowItIsKnownAndWhatToDo) {
  const std::string text = text_of(ecc_on_n3());
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "GPU memory error that ECC could not correct: GPU 0000:3b:00.0 on n3");
  for (const char* part :
       {"job 77, 4 files in logs", "95 %", "evict      yes", "kern.log:41",
        "  scontrol update NodeName=n3 State=DRAIN Reason=ecc\n", "FIRST", "and 30 more like it"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

TEST(ReportText, SaysAtLeastWhereNotAllWereKept) {
  Diagnosis diagnosis = ecc_on_n3();
  diagnosis.timeline.back().at_least = true;
  EXPECT_NE(text_of(diagnosis).find("and at least 30 more like it"), std::string::npos);
}

TEST(ReportText, WrapsSentencesAndNeverCommands) {
  Diagnosis diagnosis = ecc_on_n3();
  diagnosis.explanation = "word word word word word word word word word word word word word word";
  std::size_t longest = 0;
  const std::string text = text_of(diagnosis);
  const auto why = text.find("why");
  const std::string sentence = text.substr(why, text.find("\n\n", why) - why);
  for (std::size_t at = 0, end = 0; at < sentence.size(); at = end + 1) {
    end = std::min(sentence.find('\n', at), sentence.size());
    longest = std::max(longest, end - at);
  }
  EXPECT_LE(longest, 60U);
  EXPECT_GT(longest, 50U);
}

TEST(ReportText, ATerminalObeysNothingThatStandsInALog) {
  Diagnosis diagnosis = ecc_on_n3();
  diagnosis.summary = diagnosis.explanation = diagnosis.folder = "a\033[2Jb\r\u202Ec";
  diagnosis.subjects = {Subject::of_node("n\033]0;x\a3")};
  diagnosis.evidence.front().text = diagnosis.evidence.front().file = "x\033[31my";
  diagnosis.commands = {"rm \033[8m"};
  diagnosis.missing = diagnosis.also_seen = {"\033c"};
  const std::string text = report_text(diagnosis, {.width = 60, .colour = true});
  std::string without_ours = text;
  for (const std::string ours : {"\033[1;31m", "\033[0m"}) {
    const auto at = without_ours.find(ours);
    ASSERT_NE(at, std::string::npos);
    without_ours.erase(at, ours.size());
  }
  for (const char* bad : {"\033", "\r", "\a", "\u202E"})
    EXPECT_EQ(without_ours.find(bad), std::string::npos) << text;
}

TEST(ReportText, NothingWrongAndUndecidedSayWhy) {
  Diagnosis diagnosis;
  EXPECT_TRUE(text_of(diagnosis).starts_with("NOTHING WRONG\n"));
  diagnosis.status = DiagnosisStatus::undecided;
  diagnosis.explanation = "Not all of it could be read.";
  diagnosis.missing = {"rank0.log is cut: send it again, whole"};
  const std::string text = text_of(diagnosis);
  EXPECT_TRUE(text.starts_with("UNDECIDED\n"));
  EXPECT_NE(text.find("Not all of it could be read."), std::string::npos);
  EXPECT_NE(text.find("rank0.log is cut: send it again, whole"), std::string::npos);
}

TEST(ReportJson, OneRunIsAnObjectAndTwoAreAList) {
  EXPECT_TRUE(report_json({ecc_on_n3()}, {}).is_object());
  const json two = report_json({ecc_on_n3(), Diagnosis{}}, {{"a", "is cut", "all of it", true}});
  ASSERT_EQ(two.size(), 2U);
  EXPECT_TRUE(two[1]["class"].is_null());
  EXPECT_EQ(two[1]["warnings"][0]["what"], "is cut");
}

TEST(ReportHtml, LoadsNothingAndRunsNothingWhateverALogSays) {
  Diagnosis diagnosis = ecc_on_n3();
  diagnosis.explanation = "<script>alert(1)</script>";
  diagnosis.evidence.front().text = "<img src=x onerror=alert(1)>";
  diagnosis.subjects = {Subject::of_node("\"><script>")};
  diagnosis.timeline.front().what = "</title><script>";
  const std::string page = report_html({diagnosis}, {{"<b>.log", "is cut", "all of it", true}});
  EXPECT_TRUE(page.starts_with(page_head));
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;.log is cut"), std::string::npos);
  EXPECT_EQ(page.find("http"), page.find("http-equiv"));
}

}  // namespace
}  // namespace faultline
