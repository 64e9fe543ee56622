#include "adapters/files/unpack.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "adapters/files/archive_stream.h"
#include "adapters/files/gzip_reader.h"
#include "adapters/files/packing.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t name_bytes_max = 4096;  // PATH_MAX
constexpr std::size_t drain_block_bytes = 64 * 1024;

/// A stream whose first bytes were looked at, and are still to come.
class HeadReader final : public InputReader {
 public:
  explicit HeadReader(InputReader& source) : source_(source) {
    while (have_ < head_.size()) {
      const auto got = source_.read(std::span(head_).subspan(have_));
      failed_ = !got.ok();
      if (failed_ || *got == 0) break;
      have_ += *got;
    }
  }
  [[nodiscard]] std::string_view head() const { return {head_.data(), have_}; }
  /// Not one byte of it can be read.
  [[nodiscard]] bool nothing() const { return failed_ && have_ == 0; }

  Result<std::size_t> read(std::span<char> into) override {
    if (given_ == have_) return source_.read(into);
    const std::size_t bytes = std::min(into.size(), have_ - given_);
    std::copy_n(head_.data() + given_, bytes, into.data());
    given_ += bytes;
    return bytes;
  }

 private:
  InputReader& source_;
  std::array<char, packing_head_bytes> head_{};
  std::size_t have_ = 0;
  std::size_t given_ = 0;
  bool failed_ = false;
};

/// What a visitor reads of an unpacked stream: no more than one stream may have.
class StreamReader final : public InputReader {
 public:
  StreamReader(InputReader& source, const std::string& name, Reading& reading)
      : source_(source), name_(name), reading_(reading) {}

  Result<std::size_t> read(std::span<char> into) override {
    if (too_long_) return *too_long_;
    const std::uint64_t room = reading_.limits().member_bytes_max - bytes_;
    auto got = source_.read(into);
    if (!got.ok() || *got <= room) {
      bytes_ += got.ok() ? *got : 0;
      return got;
    }
    too_long_ = reading_.broken(ErrorCode::exhausted, name_, "is too long for one unpacked file",
                                reading_.limits().member_bytes_max);
    return room == 0 ? Result<std::size_t>(*too_long_) : Result<std::size_t>(room);
  }

 private:
  InputReader& source_;
  const std::string& name_;
  Reading& reading_;
  std::uint64_t bytes_ = 0;
  std::optional<Error> too_long_;
};

class Unpacker {
 public:
  Unpacker(Reading& reading, const InputVisitor& visit) : reading_(reading), visit_(visit) {}

  void stream(InputReader& source, const InputFile& file, int layers) {
    reading_.now_at(file.name);
    HeadReader reader(source);
    if (reader.nothing()) return;
    const Packing packing = packing_of(reader.head());
    if (packing == Packing::none) return plain(reader, file);
    if (layers >= reading_.limits().layers_max) {
      return reading_.note(file.name, fmt::format("is packed more than {} times", layers),
                           "all of it");
    }
    if (packing == Packing::tar || packing == Packing::zip) {
      members(reader, packing, file.name, layers + 1);
    } else {
      compressed(reader, packing, file, layers + 1);
    }
  }

 private:
  void plain(InputReader& reader, const InputFile& file) {
    if (!file.packed) return visit_(file, reader);
    StreamReader limited(reader, file.name, reading_);
    visit_(file, limited);
  }

  void compressed(InputReader& source, Packing packing, InputFile file, int layers) {
    file.packed = true;
    file.bytes = 0;
    if (packing == Packing::gzip) {
      GzipReader reader(source, file.name, reading_);
      return stream(reader, file, layers);
    }
    ArchiveStream archive(source, packing, file.name, reading_);
    if (!archive.next() && archive.failed()) return;
    MemberReader reader(archive, file.name, reading_);
    stream(reader, file, layers);
  }

  void members(InputReader& source, Packing packing, const std::string& name, int layers) {
    ArchiveStream archive(source, packing, name, reading_);
    std::uint64_t others = 0;
    std::string last;
    while (!reading_.exhausted() && next_of(archive, name)) {
      if (const auto limit = reading_.add_member(); limit)
        return reading_.note(name, *limit, "what follows in it");
      if (archive.member_is_file()) {
        last = archive.member_name();
        member(archive, name, layers);
      } else if (!archive.member_is_folder()) {
        ++others;
      }
    }
    if (others > 0)
      reading_.note(name, fmt::format("holds links or devices: {}", others), "those", false);
    if (reading_.exhausted() && !last.empty())
      reading_.note(name, "unpacks to too much",
                    fmt::format("what follows {} in it", printable(last, name_bytes_max)));
  }

  bool next_of(ArchiveStream& archive, const std::string& name) {
    reading_.now_at(name);
    return archive.next();
  }

  void member(ArchiveStream& archive, const std::string& in, int layers) {
    const InputFile file{printable(in + "/" + archive.member_name(), name_bytes_max),
                         archive.member_modified(), archive.member_bytes(), true};
    if (archive.member_is_encrypted()) return reading_.note(file.name, "is encrypted", "all of it");
    MemberReader reader(archive, file.name, reading_);
    stream(reader, file, layers);
    pass_over(reader);
    if (archive.broke_off())
      reading_.note(in, fmt::format("cannot be read beyond {}", file.name), "what follows in it");
  }

  /// What nobody read is still unpacked here, where it counts against the limits.
  static void pass_over(InputReader& reader) {
    std::array<char, drain_block_bytes> block;
    for (auto got = reader.read(block); got.ok() && *got > 0;) got = reader.read(block);
  }

  Reading& reading_;
  const InputVisitor& visit_;
};

}  // namespace

void unpack(InputReader& reader, const InputFile& file, Reading& reading,
            const InputVisitor& visit) {
  Unpacker(reading, visit).stream(reader, file, 0);
}

}  // namespace faultline
