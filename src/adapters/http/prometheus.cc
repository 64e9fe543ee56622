#include "adapters/http/prometheus.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::string_view prefix = "faultline_";
constexpr std::size_t label_bytes_max = 256;

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

std::string safe_name(std::string_view text) {
  std::string name;
  for (const char c : text) name += letter(c) || digit(c) ? c : '_';
  if (name.empty() || digit(name[0])) name.insert(0, 1, '_');
  return name;
}

/// `text` with backslash and line feed escaped, and the quotation mark too inside a label.
std::string escaped(std::string_view text, bool inside_quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && inside_quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
  return out;
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

std::string label_text(const MetricSample& sample) {
  if (sample.labels.empty()) return "";
  std::vector<std::string> pairs;
  for (const auto& [name, value] : sample.labels) {
    // A line feed is escaped below; printable() would have it replaced.
    std::vector<std::string> lines;
    for (const auto line : split(value, '\n')) lines.push_back(printable(line, label_bytes_max));
    pairs.push_back(safe_name(name) + "=\"" + escaped(join(lines, "\n"), true) + "\"");
  }
  return "{" + join(pairs, ",") + "}";
}

}  // namespace

std::vector<Metric> metrics_of(const std::map<std::string, std::uint64_t, std::less<>>& counters) {
  std::vector<Metric> metrics;
  for (const auto& [name, value] : counters) {
    const auto type = name.ends_with("_total") ? MetricType::counter : MetricType::gauge;
    std::string help = name;
    for (char& c : help) {
      if (c == '_') c = ' ';
    }
    metrics.push_back({name, type, help, {{{}, static_cast<double>(value)}}});
  }
  return metrics;
}

std::string prometheus_text(const std::vector<Metric>& metrics) {
  struct Group {
    const Metric* first;
    std::string lines;
  };
  std::map<std::string, Group> groups;  // a name may stand on the page in one place only
  for (const auto& metric : metrics) {
    const std::string name = std::string(prefix) + safe_name(metric.name);
    auto& group = groups.try_emplace(name, Group{&metric, ""}).first->second;
    for (const auto& sample : metric.samples) {
      group.lines += name + label_text(sample) + " " + number(sample.value) + "\n";
    }
  }
  std::string page;
  for (const auto& [name, group] : groups) {
    page += "# HELP " + name + " " + escaped(group.first->help, false) + "\n";
    page +=
        "# TYPE " + name + (group.first->type == MetricType::counter ? " counter\n" : " gauge\n");
    page += group.lines;
  }
  return page;
}

}  // namespace faultline
