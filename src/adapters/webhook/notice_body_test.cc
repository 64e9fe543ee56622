// docs/formats.md shows a real body of each kind: this one.
#include "adapters/webhook/notice_body.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/small_file.h"

namespace faultline {
namespace {

Notice drained() {
  Notice notice;
  notice.title = "n3 drained: Uncorrectable ECC error in GPU memory";
  notice.verdict.id = "v-7c0f2f1a5b9e4d33";
  notice.verdict.cause = "gpu.ecc_uncorrectable";
  notice.verdict.subject = Subject::of_gpu("n3", "0000:3b:00.0");
  notice.verdict.status = VerdictStatus::confirmed;
  notice.verdict.confidence = 0.95;
  notice.verdict.attempt = AttemptId{"4711_2", 0};
  notice.verdict.since = *parse_instant("2026-11-29T21:18:32.123456Z");
  notice.verdict.updated_at = notice.verdict.since;
  notice.incident.id = "i-93c1d0a7e2f45b68";
  notice.incident.opened_at = notice.verdict.since;
  notice.incident.subject = notice.verdict.subject;
  notice.incident.cause = notice.verdict.cause;
  notice.incident.attempt = notice.verdict.attempt;
  notice.verdict.explanation = "xid.48 from the kernel of n3";
  notice.verdict.evidence = {"e-0a4f7be21c6d9835"};
  Decision decision;
  decision.id = "d-0f3c9e5b7a1d2c44";
  decision.verdict = notice.verdict.id;
  decision.action.id = "a-72fb1f5acb79ad6e";
  decision.action.kind = ActionKind::drain_node;
  decision.action.subject = Subject::of_node("n3");
  decision.ruling = Ruling::act;
  decision.reason = Reason::all_guards_passed;
  decision.detail = "1 of 128 nodes drained by faultline";
  notice.decisions = {decision};
  notice.outcomes = {
      {decision.action.id,
       OutcomeStatus::done,
       *parse_instant("2026-11-29T21:18:32.481007Z"),
       "n3 is drained by faultline",
       {"scontrol update NodeName=n3 State=DRAIN Reason='faultline:a-72fb1f5acb79ad6e "
        "gpu.ecc_uncorrectable'"},
       false}};
  notice.next_step = "Reset the GPU; if it comes back, have the board replaced.";
  return notice;
}

/// The first fenced block of JSON behind `heading` in docs/formats.md.
nlohmann::json documented(const std::string& heading) {
  const auto text =
      read_small_file(std::string(FAULTLINE_SOURCE_DIR) + "/docs/formats.md", 1 << 20);
  EXPECT_TRUE(text.ok());
  const auto section = text->find("\n### " + heading + "\n");
  const auto begin = text->find("```json\n", section);
  const auto end = text->find("```\n", begin + 8);
  if (section == std::string::npos || begin == std::string::npos || end == std::string::npos)
    return "no such block";
  return nlohmann::json::parse(text->substr(begin + 8, end - begin - 8), nullptr, false);
}

TEST(NoticeBody, IsWhatIsDocumented) {
  for (const auto& [format, heading] :
       {std::pair{WebhookFormat::generic, "generic"}, std::pair{WebhookFormat::slack, "slack"},
        std::pair{WebhookFormat::alertmanager, "alertmanager"}}) {
    const auto body = nlohmann::json::parse(notice_body(format, drained()));
    EXPECT_EQ(body, documented(heading)) << body.dump(2);
  }
}

TEST(NoticeBody, AnAlertIsTheSameWhicheverVerdictLeadsAndEndsWithItsIncident) {
  Notice notice = drained();
  const auto alert = [&] {
    return nlohmann::json::parse(notice_body(WebhookFormat::alertmanager, notice))[0];
  };
  const auto first = alert();
  EXPECT_FALSE(first.contains("endsAt"));
  notice.verdict.id = "v-another";
  notice.verdict.status = VerdictStatus::cleared;
  notice.incident.cause = "gpu.fell_off_bus";
  EXPECT_EQ(alert()["labels"], first["labels"]);
  EXPECT_FALSE(alert().contains("endsAt")) << "one verdict is taken back, another stands";
  notice.incident.closed_at = notice.incident.opened_at + std::chrono::minutes{5};
  EXPECT_EQ(alert()["endsAt"], "2026-11-29T21:23:32.123456Z");
}

TEST(NoticeBody, ShowsTheCommandsOfWhatAsks) {
  Notice notice = drained();
  notice.decisions.front().ruling = Ruling::ask;
  notice.dry_runs = std::exchange(notice.outcomes, {});
  const std::string command = notice.dry_runs.front().commands.front();
  const auto body = nlohmann::json::parse(notice_body(WebhookFormat::generic, notice));
  EXPECT_EQ(body["decisions"][0]["commands"], nlohmann::json::array({command}));
  EXPECT_TRUE(body["outcomes"].empty()) << "nothing was done";
  for (const auto format : {WebhookFormat::slack, WebhookFormat::alertmanager}) {
    const std::string text = notice_body(format, notice);
    EXPECT_NE(text.find("\\n$ " + command), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace faultline
