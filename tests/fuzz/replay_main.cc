// Runs a fuzz target over the files of a folder, without libFuzzer: in this way every build tests
// again what a fuzzer once found. A target that dies on an input is named by the last line printed
// before.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> files_below(const char* folder) {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, missing)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void replay(const std::string& name, const std::string& bytes) {
  std::printf("%s (%zu bytes)\n", name.c_str(), bytes.size());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  replay("the empty input", "");
  int count = 1;
  for (int i = 1; i < argc; ++i) {
    for (const auto& file : files_below(argv[i])) {
      std::ifstream stream(file, std::ios::binary);
      replay(file.string(), {std::istreambuf_iterator<char>(stream), {}});
      ++count;
    }
  }
  std::printf("%d inputs replayed\n", count);
}
