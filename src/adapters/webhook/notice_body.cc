#include "adapters/webhook/notice_body.h"

#include <nlohmann/json.hpp>

#include "adapters/webhook/redact.h"
#include "base/text.h"

namespace faultline {
namespace {

using nlohmann::json;

constexpr std::size_t slack_bytes_max = 3000;  // Slack cuts a text block there
constexpr std::size_t label_bytes_max = 256;

std::string safe(std::string_view text) { return redact(text); }

json commands_json(const std::vector<std::string>& commands) {
  json list = json::array();
  for (const auto& command : commands) list.push_back(safe(command));
  return list;
}

/// What would be run for a decision that asks.
std::vector<std::string> commands_asked_for(const Notice& notice, const Decision& decision) {
  for (const auto& dry_run : notice.dry_runs) {
    if (dry_run.action == decision.action.id) return dry_run.commands;
  }
  return {};
}

json verdict_json(const Verdict& verdict) {
  return {{"id", verdict.id},
          {"cause", verdict.cause},
          {"subject", verdict.subject.text()},
          {"status", to_text(verdict.status)},
          {"confidence", verdict.confidence},
          {"attempt", verdict.attempt ? json(verdict.attempt->text()) : json(nullptr)},
          {"since", to_text(verdict.since)},
          {"explanation", safe(verdict.explanation)},
          {"evidence", verdict.evidence}};
}

std::string generic(const Notice& notice) {
  json decisions = json::array();
  for (const auto& decision : notice.decisions) {
    decisions.push_back({{"id", decision.id},
                         {"action", to_text(decision.action.kind)},
                         {"subject", decision.action.subject.text()},
                         {"ruling", to_text(decision.ruling)},
                         {"reason", to_text(decision.reason)},
                         {"detail", safe(decision.detail)},
                         {"commands", commands_json(commands_asked_for(notice, decision))}});
  }
  json outcomes = json::array();
  for (const auto& outcome : notice.outcomes) {
    outcomes.push_back({{"action", outcome.action},
                        {"status", to_text(outcome.status)},
                        {"at", to_text(outcome.at)},
                        {"detail", safe(outcome.detail)},
                        {"commands", commands_json(outcome.commands)}});
  }
  const json body{{"version", 1},
                  {"title", safe(notice.title)},
                  {"incident", notice.incident.id},
                  {"verdict", verdict_json(notice.verdict)},
                  {"decisions", decisions},
                  {"outcomes", outcomes},
                  {"next_step", safe(notice.next_step)}};
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// What Slack would take for a link, a mention or markup of its own.
std::string slack_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c;
    }
  }
  return out;
}

/// One message of a few lines: what, why, what was done, what to do.
std::vector<std::string> lines_of(const Notice& notice) {
  std::vector<std::string> lines;
  lines.push_back(std::string(to_text(notice.verdict.status)) + ": " + notice.verdict.cause +
                  " on " + notice.verdict.subject.text());
  if (!notice.verdict.explanation.empty()) lines.push_back(notice.verdict.explanation);
  for (const auto& decision : notice.decisions) {
    std::string line = std::string(to_text(decision.action.kind)) + ": " +
                       std::string(to_text(decision.ruling)) + " (" +
                       std::string(to_text(decision.reason)) + ")";
    if (decision.ruling == Ruling::ask) line += ", faultline approve " + decision.id;
    lines.push_back(std::move(line));
    for (const auto& command : commands_asked_for(notice, decision))
      lines.push_back("$ " + command);
  }
  for (const auto& outcome : notice.outcomes) {
    lines.push_back(std::string(to_text(outcome.status)) + ": " + outcome.detail);
  }
  if (!notice.next_step.empty()) lines.push_back("Next: " + notice.next_step);
  return lines;
}

std::string slack(const Notice& notice) {
  std::string text =
      "*" + slack_text(safe(notice.title)) + "*\n" + slack_text(safe(join(lines_of(notice), "\n")));
  if (text.size() > slack_bytes_max) text = text.substr(0, slack_bytes_max) + "...";
  // A cut inside a character is repaired by the writer below.
  return json{{"text", text}}.dump(-1, ' ', false, json::error_handler_t::ignore);
}

std::string alertmanager(const Notice& notice) {
  const Incident& incident = notice.incident;
  // Labels are the alert's identity, and another one is another page: only what stays the same
  // while verdicts join may stand in them. That another node leads is news.
  json labels{{"alertname", "FaultlineIncident"}, {"incident", incident.id}};
  if (!incident.subject.node.empty())
    labels["node"] = printable(incident.subject.node, label_bytes_max);
  json alert{{"labels", labels},
             {"annotations",
              {{"summary", safe(notice.title)},
               {"cause", incident.cause},
               {"job", incident.attempt ? incident.attempt->job : ""},
               {"description", safe(join(lines_of(notice), "\n"))},
               {"next_step", safe(notice.next_step)}}}};
  if (known(incident.opened_at)) alert["startsAt"] = to_text(incident.opened_at);
  if (known(incident.closed_at)) alert["endsAt"] = to_text(incident.closed_at);  // resolved
  return json::array({alert}).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string notice_body(WebhookFormat format, const Notice& notice) {
  switch (format) {
    case WebhookFormat::generic: return generic(notice);
    case WebhookFormat::slack: return slack(notice);
    case WebhookFormat::alertmanager: return alertmanager(notice);
  }
  return "{}";
}

}  // namespace faultline
