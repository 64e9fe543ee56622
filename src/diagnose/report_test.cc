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

std::string unwrapped(const Diagnosis& diagnosis) {
  return report_text(diagnosis, {.width = 0, .colour = false});
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    longest = std::max(longest, end - at);
  }
  return longest;
}

/// A word has up to `bytes`, so that what can be wrapped has to be.
std::string words(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "word ";
  return text + "end";
}

TEST(ReportText, SaysWhatWhereHowItIsKnownAndWhatToDo) {
  const std::string text = unwrapped(ecc_on_n3());
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
  EXPECT_NE(unwrapped(diagnosis).find("and at least 30 more like it"), std::string::npos);
}

TEST(ReportText, WrapsSentencesAndNeverCommands) {
  Diagnosis diagnosis = ecc_on_n3();
  diagnosis.explanation = "word word word word word word word word word word word word word word";
  const std::string text = text_of(diagnosis);
  const auto why = text.find("why");
  const std::string sentence = text.substr(why, text.find("\n\n", why) - why);
  EXPECT_LE(longest_line(sentence), 60U);
  EXPECT_GT(longest_line(sentence), 50U);
}

TEST(ReportText, OnANarrowTerminalNothingIsWiderThanIt) {
  Diagnosis diagnosis = ecc_on_n3();
  diagnosis.commands.clear();
  diagnosis.summary = diagnosis.explanation = diagnosis.action = words(200);
  diagnosis.timeline.front().what = words(100);
  diagnosis.evidence.front().text = words(300);
  diagnosis.missing = diagnosis.also_seen = {words(100)};
  for (const std::size_t width : {40U, 80U}) {
    const std::string text = report_text(diagnosis, {.width = width, .colour = false});
    EXPECT_LE(longest_line(text), width + 2) << text;  // an ellipsis has three bytes
    EXPECT_NE(text.find("…"), std::string::npos) << text;
  }
}

TEST(ReportText, ALineThatFitsIsQuotedInFullAndOneThatDoesNotEndsWithAnEllipsis) {
  Diagnosis diagnosis = ecc_on_n3();
  const std::size_t room = (60 - 13) * 3;
  diagnosis.evidence.front().text = std::string(room - 1, 'x') + "Z";
  EXPECT_NE(text_of(diagnosis).find("xZ\n"), std::string::npos);
  EXPECT_EQ(text_of(diagnosis).find("…"), std::string::npos);
  diagnosis.evidence.front().text = std::string(room - 1, 'x') + "ZZ";
  EXPECT_NE(text_of(diagnosis).find("x…\n"), std::string::npos);
}

TEST(ReportText, WithoutAWidthNothingIsWrappedOrCut) {
  Diagnosis diagnosis = ecc_on_n3();
  diagnosis.explanation = words(500);
  diagnosis.evidence.front().text = words(1000);
  const std::string text = unwrapped(diagnosis);
  EXPECT_NE(text.find(words(500) + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find(words(1000) + "\n"), std::string::npos) << text;
}

TEST(ReportText, NamesPublicCasesWithTheirTitlesAndLinks) {
  Diagnosis diagnosis = ecc_on_n3();
  diagnosis.cases = {{"GT-4", "A bad GPU", "Somebody, 2021", "https://example.org/a"},
                     {"GT-5", "Another", "Nobody", ""},
                     {"GT-6", "", "", ""}};
  const std::string text = unwrapped(diagnosis);
  EXPECT_NE(text.find("like       GT-4: A bad GPU (Somebody, 2021), https://example.org/a\n"
                      "           GT-5: Another (Nobody)\n"
                      "           GT-6\n"),
            std::string::npos)
      << text;
  const std::string page = report_html({diagnosis}, {});
  EXPECT_NE(page.find("href=\"https://example.org/a\">GT-4: A bad GPU"), std::string::npos);
  EXPECT_NE(page.find("<li>GT-5: Another (Nobody)</li>"), std::string::npos);
  EXPECT_EQ(report_json({diagnosis}, {})["cases"], json({"GT-4", "GT-5", "GT-6"}));
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
