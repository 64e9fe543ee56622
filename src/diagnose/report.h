// A diagnosis as text for people, and as JSON for programs (docs/formats.md has the schema).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "diagnose/diagnosis.h"

namespace faultline {

struct ReportStyle {
  std::size_t width = 100;  // columns to wrap at; 0: never
  bool colour = false;
};

/// All lines end with a line feed. Text of the input is already free of control characters.
std::string report_text(const Diagnosis& diagnosis, const ReportStyle& style);

nlohmann::json report_json(const Diagnosis& diagnosis);

/// One page that needs nothing else and loads nothing, with the time line drawn.
std::string report_html(const std::vector<Diagnosis>& diagnoses);

/// "rank 2 on n3", "GPU 0000:3b:00.0 of n3", "node n3", "job 77": a subject in words.
std::string subject_words(const Subject& subject);

}  // namespace faultline
