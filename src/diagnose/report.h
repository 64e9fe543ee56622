// A diagnosis as text for people, and as JSON for programs (docs/diagnosis.schema.json).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/input.h"

namespace faultline {

struct ReportStyle {
  std::size_t width = 100;  // columns to wrap at; 0: never
  bool colour = false;
};

/// All lines end with a line feed; without control characters but those of the colours.
std::string report_text(const Diagnosis& diagnosis, const ReportStyle& style);

/// As docs/diagnosis.schema.json has it: one object, or a list where there are several runs.
nlohmann::json report_json(const std::vector<Diagnosis>& diagnoses,
                           const std::vector<InputWarning>& warnings);

/// One page that needs nothing else and loads nothing, with the time line drawn, and what of the
/// input was left out.
std::string report_html(const std::vector<Diagnosis>& diagnoses,
                        const std::vector<InputWarning>& warnings);

/// How a page begins: what overwrites a file may know one of ours by it.
inline constexpr std::string_view page_head = "<!doctype html>\n<!-- faultline diagnosis -->\n";

/// "GT-004: An ECC error that ... (BigScience, 2021)", as far as the catalog knows it.
std::string case_words(const PublicCase& told);

/// "rank3.pickle is cut; left out: what follows byte 4096".
std::string warning_words(const InputWarning& warning);

/// "rank 2 on n3", "GPU 0000:3b:00.0 of n3", "node n3", "job 77": a subject in words.
std::string subject_words(const Subject& subject);

}  // namespace faultline
