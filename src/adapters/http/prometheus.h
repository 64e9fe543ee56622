// The text format 0.0.4 that Prometheus scrapes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace faultline {

enum class MetricType { counter, gauge };

struct MetricSample {
  std::map<std::string, std::string, std::less<>> labels{};
  double value = 0;
};

/// One name with its samples. The name may be any text: what Prometheus does not allow becomes '_'.
struct Metric {
  std::string name;
  MetricType type = MetricType::counter;
  std::string help;
  std::vector<MetricSample> samples{};
};

/// Counters by name ("ingest_lines_total"), as metrics without labels. Names that do not end in
/// _total are gauges: that is how base/counters.h tells what only grows.
std::vector<Metric> metrics_of(const std::map<std::string, std::uint64_t, std::less<>>& counters);

/// The page: each metric once, prefixed "faultline_", with its HELP and TYPE line. Metrics of the
/// same name are joined; the first one's type and help hold.
std::string prometheus_text(const std::vector<Metric>& metrics);

}  // namespace faultline
