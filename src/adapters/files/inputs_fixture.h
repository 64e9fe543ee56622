// For the tests of inputs: a folder of their own, small archives, and all that can be read of them.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "adapters/files/input_finder.h"
#include "base/check.h"
#include "base/small_file.h"

namespace faultline {

namespace fs = std::filesystem;

using Members = std::vector<std::pair<std::string, std::string>>;  // name, content

inline std::string gzip_of(const std::string& content) {
  z_stream stream{};
  FAULTLINE_CHECK(::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(::deflateBound(&stream, content.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  FAULTLINE_CHECK(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

/// One member as POSIX has it, of the given type ('0': a file).
inline std::string tar_member(const std::string& name, const std::string& content,
                              char type = '0') {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  char size[12];
  std::snprintf(size, sizeof size, "%011zo", content.size());
  put(0, name);
  put(100, "0000644");
  put(124, size);
  put(136, "15112345670");
  put(148, "        ");
  header[156] = type;
  put(257, std::string("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char checksum[8];
  std::snprintf(checksum, sizeof checksum, "%06o", sum);
  put(148, checksum);
  return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

inline std::string tar_of(const Members& members) {
  std::string tar;
  for (const auto& [name, content] : members) tar += tar_member(name, content);
  return tar + std::string(1024, '\0');
}

/// Stored, and without the directory at the end, which a stream does not need.
inline std::string zip_of(const Members& members) {
  const auto little = [](std::size_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
    return text;
  };
  std::string zip;
  for (const auto& [name, content] : members) {
    const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(content.data()),
                             static_cast<uInt>(content.size()));
    zip += "PK\3\4" + little(20, 2) + little(0, 8) + little(sum, 4) + little(content.size(), 4) +
           little(content.size(), 4) + little(name.size(), 2) + little(0, 2) + name + content;
  }
  return zip + "PK\5\6" + std::string(18, '\0');
}

class InputsTest : public testing::Test {
 protected:
  InputsTest() {
    std::string pattern = (fs::temp_directory_path() / "inputs-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    before_ = fs::current_path();
    fs::current_path(folder_);  // so that names are as short as those that people type
  }
  ~InputsTest() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }

  static void write(const fs::path& path, const std::string& content) {
    if (path.has_parent_path()) fs::create_directories(path.parent_path());
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT_EQ(::write(file, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    ::close(file);
  }
  static std::string fixture(const std::string& name) {
    auto content =
        read_small_file(fs::path(FAULTLINE_SOURCE_DIR) / "tests/fixtures/packed" / name, 1 << 20);
    EXPECT_TRUE(content.ok());
    return content.ok() ? *content : "";
  }

  /// All that comes, up to an error; `block` bytes at a time.
  static std::string read_all(InputReader& reader, std::size_t block = 1000) {
    std::string all;
    std::string buffer(block, '\0');
    for (;;) {
      const auto got = reader.read(buffer);
      if (!got.ok()) return all + "<" + std::string(to_text(got.error().code)) + ">";
      if (*got == 0) return all;
      all.append(buffer, 0, *got);
    }
  }

  /// Visits everything below `paths`: name and content of each stream; warnings go to warnings_.
  Members read(const std::vector<std::string>& paths) {
    Members streams;
    visit(paths, [&](const InputFile& file, InputReader& reader) {
      streams.emplace_back(file.name, read_all(reader));
    });
    return streams;
  }

  void visit(const std::vector<std::string>& paths, const InputVisitor& visitor) {
    const auto listing = make_input_finder(unpack_, folders_)->find(paths);
    const auto warn = [&](const InputWarning& warning) {
      warnings_.push_back(warning.file + ": " + warning.what + "; left out: " + warning.left_out);
    };
    for (const auto& warning : listing.warnings) warn(warning);
    for (const auto& source : listing.sources) source->visit(visitor, warn);
  }

  UnpackLimits unpack_;
  FolderLimits folders_;
  std::vector<std::string> warnings_;

 private:
  fs::path folder_;
  fs::path before_;
};

}  // namespace faultline
