// Runs tests/cases/detect/*.case. UPDATE_CASES=1 rewrites what is expected; read the diff.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/cases/detect_story.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

const fs::path case_folder = fs::path(FAULTLINE_SOURCE_DIR) / "tests/cases/detect";

std::vector<fs::path> case_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(case_folder)) {
    if (entry.path().extension() == ".case") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Lines that only one of the two has, with their numbers, in the order of the file.
std::string difference(const std::string& expected, const std::string& actual) {
  const auto have = split(expected, '\n'), want = split(actual, '\n');
  const std::size_t rows = have.size(), columns = want.size();
  std::vector<std::vector<std::size_t>> common(rows + 1, std::vector<std::size_t>(columns + 1));
  for (std::size_t i = rows; i-- > 0;) {
    for (std::size_t j = columns; j-- > 0;) {
      common[i][j] = have[i] == want[j] ? common[i + 1][j + 1] + 1
                                        : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::string text;
  for (std::size_t i = 0, j = 0; i < rows || j < columns;) {
    if (i < rows && j < columns && have[i] == want[j]) {
      ++i, ++j;
    } else if (j >= columns || (i < rows && common[i + 1][j] >= common[i][j + 1])) {
      text += "  line " + std::to_string(i + 1) + " - " + std::string(have[i]) + "\n";
      ++i;
    } else {
      text += "  line " + std::to_string(i + 1) + " + " + std::string(want[j]) + "\n";
      ++j;
    }
  }
  return text;
}

class DetectCases : public testing::TestWithParam<fs::path> {};

TEST_P(DetectCases, Holds) {
  const StoryResult result = tell_story(GetParam());
  for (const std::string& error : result.errors)
    ADD_FAILURE() << GetParam().filename() << ": " << error;
  if (result.actual == result.expected) return;
  if (std::getenv("UPDATE_CASES") != nullptr) {
    std::ofstream(GetParam()) << result.actual;
    return;
  }
  ADD_FAILURE() << GetParam().filename() << " (- expected, + concluded):\n"
                << difference(result.expected, result.actual);
}

INSTANTIATE_TEST_SUITE_P(
    Stories, DetectCases, testing::ValuesIn(case_files()), [](const auto& story) {
      std::string name = story.param.stem().string();
      std::replace_if(
          name.begin(), name.end(),
          [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

}  // namespace
}  // namespace faultline
