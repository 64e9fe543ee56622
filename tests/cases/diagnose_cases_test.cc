// Runs tests/cases/diagnose/*.case: what lay in a folder, and what must be said of it.
// docs/formats.md describes the form. UPDATE_CASES=1 rewrites what is expected; read the diff.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "diagnose/diagnose.h"
#include "diagnose/event_shares.h"
#include "diagnose/name_hint.h"
#include "diagnose/report.h"
#include "tests/cases/detect_story.h"
#include "tests/cases/json_schema.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

const fs::path case_folder = fs::path(FAULTLINE_SOURCE_DIR) / "tests/cases/diagnose";
constexpr Instant read_at{std::chrono::sys_days{std::chrono::year{2026} / 12 / 1}};

/// A file as the case spells it: lines behind "| ".
struct CaseFile {
  InputFile file;
  std::string content;
};

class TextReader final : public InputReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}
  Result<std::size_t> read(std::span<char> into) override {
    const std::size_t bytes = text_.copy(into.data(), into.size());
    text_.remove_prefix(bytes);
    return bytes;
  }

 private:
  std::string_view text_;
};

std::vector<Diagnosis> diagnose_files(const std::vector<CaseFile>& files) {
  static Counters counters;
  static const LogDatabases databases(ShippedSignatures::get().catalog(), counters,
                                      ShippedSignatures::cache_folder());
  EventShares shares;
  Gatherer gatherer(databases, counters, shares, read_at);
  std::vector<std::string> names;
  for (const CaseFile& file : files) names.push_back(file.file.name);
  const auto numbers = numbers_among_siblings(names);
  for (CaseFile file : files) {
    TextReader reader(file.content);
    const auto number = numbers.find(file.file.name);
    if (number != numbers.end()) file.file.number_among_siblings = number->second;
    gatherer.read(file.file, reader);
  }
  return diagnose(ShippedSignatures::get().catalog(), gatherer.take(), read_at);
}

/// What a case must say whatever else it says: one line a fact.
std::string outcome_of(const Diagnosis& diagnosis) {
  std::string text = "expect " + std::string(to_text(diagnosis.status));
  if (diagnosis.cause.empty()) return text + "\n";
  text += " " + std::string(to_text(diagnosis.cause_class)) + " " + diagnosis.cause;
  for (const Subject& subject : diagnosis.subjects) text += " " + subject.text();
  return text + (diagnosis.evict ? " evict" : "") + "\n";
}

std::string all_text(const Diagnosis& diagnosis) {
  std::string text = diagnosis.explanation + "\n" + diagnosis.action + "\n" +
                     join(diagnosis.missing, "\n") + "\n" + join(diagnosis.commands, "\n") + "\n";
  for (const TimelineEntry& entry : diagnosis.timeline)
    text += to_text(entry.at) + " " + std::string(to_text(entry.role)) + " " + entry.what + "\n";
  for (const InputWarning& warning : diagnosis.warnings) text += warning_words(warning) + "\n";
  for (const EvidenceLine& line : diagnosis.evidence)
    text += line.file + ":" + std::to_string(line.line) + " " + line.text + "\n";
  return text;
}

std::string content_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  return bytes.str();
}

const nlohmann::json& report_schema() {
  static const auto schema = nlohmann::json::parse(
      content_of(fs::path(FAULTLINE_SOURCE_DIR) / "docs/diagnosis.schema.json"));
  return schema;
}

/// Logs that lie beside the cases: a file, or all files below a folder.
void add_from(const std::string& name, std::vector<CaseFile>& files) {
  const fs::path root = fs::path(FAULTLINE_SOURCE_DIR) / "tests/cases";
  std::vector<fs::path> paths;
  if (fs::is_directory(root / name)) {
    for (const auto& entry : fs::recursive_directory_iterator(root / name)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  } else {
    paths.push_back(root / name);
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    CaseFile file;
    file.file.name = fs::relative(path, root).string();
    file.content = content_of(path);
    EXPECT_FALSE(file.content.empty() && !fs::exists(path)) << path;
    files.push_back(std::move(file));
  }
}

struct Case {
  std::vector<CaseFile> files;
  std::string body;                 // all but what is expected
  std::string expected;             // the outcomes
  std::vector<std::string> wanted;  // "says X" and "not X"
};

Case read_case(const fs::path& path) {
  Case story;
  std::ifstream stream(path);
  std::string line;
  while (std::getline(stream, line)) {
    if (line.starts_with("expect ")) {
      const std::string_view rest = std::string_view(line).substr(7);
      const bool words = rest.starts_with("says ") || rest.starts_with("not ");
      if (words) story.wanted.emplace_back(rest);
      if (!words) story.expected += line + "\n";
      continue;
    }
    story.body += line + "\n";
    if (line.starts_with("from ")) {
      add_from(line.substr(5), story.files);
    } else if (line.starts_with("file ")) {
      CaseFile file;
      std::istringstream words(line.substr(5));
      std::string written;
      words >> file.file.name >> written;
      if (const auto at = parse_instant(written)) file.file.modified = *at;
      story.files.push_back(std::move(file));
    } else if (line.starts_with("|")) {
      if (story.files.empty()) ADD_FAILURE() << path << ": a line before the first file";
      if (!story.files.empty())
        story.files.back().content += (line.size() > 2 ? line.substr(2) : "") + "\n";
    } else if (!line.empty() && line[0] != '#') {
      ADD_FAILURE() << path << ": cannot read: " << line;
    }
  }
  return story;
}

std::vector<fs::path> case_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(case_folder)) {
    if (entry.path().extension() == ".case") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class DiagnoseCases : public testing::TestWithParam<fs::path> {};

TEST_P(DiagnoseCases, Holds) {
  const Case story = read_case(GetParam());
  std::string outcome, text;
  const std::vector<Diagnosis> diagnoses = diagnose_files(story.files);
  const nlohmann::json report = report_json(diagnoses, {});
  EXPECT_EQ(schema_error(report_schema(), report, report_schema()), "");
  for (const Diagnosis& diagnosis : diagnoses) {
    outcome += outcome_of(diagnosis);
    text += all_text(diagnosis);
  }
  std::string kept;
  for (const std::string& wanted : story.wanted) {
    const bool says = wanted.starts_with("says ");
    const bool found = text.find(wanted.substr(says ? 5 : 4)) != std::string::npos;
    EXPECT_EQ(found, says) << GetParam().filename() << ": " << wanted << "\nin\n" << text;
    kept += "expect " + wanted + "\n";
  }
  if (std::getenv("SHOW_CASES") != nullptr) std::printf("%s\n%s", GetParam().c_str(), text.c_str());
  if (outcome == story.expected) return;
  if (std::getenv("UPDATE_CASES") != nullptr) {
    std::ofstream(GetParam()) << story.body << outcome << kept;
    return;
  }
  ADD_FAILURE() << GetParam().filename() << ": expected\n"
                << story.expected << "concluded\n"
                << outcome << text;
}

INSTANTIATE_TEST_SUITE_P(
    Folders, DiagnoseCases, testing::ValuesIn(case_files()), [](const auto& story) {
      std::string name = story.param.stem().string();
      std::replace_if(
          name.begin(), name.end(),
          [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

TEST(DiagnoseFiles, AHoleThatTruncationLeftHidesNoLog) {
  InputFile file;
  file.name = "slurm-77.out";
  const std::string log =
      "0: [2026-11-29 10:11:58] INFO step 400\n0: IndexError: list index out of range\n"
      "srun: error: n5: task 0: Exited with exit code 1\n";
  const auto causes = [&](std::size_t hole_bytes) {
    return diagnose_files({{file, std::string(hole_bytes, '\0') + log}}).front().cause;
  };
  EXPECT_EQ(causes(0), "software.user_exception");
  EXPECT_EQ(causes(200'000), "software.user_exception");
}

}  // namespace
}  // namespace faultline
