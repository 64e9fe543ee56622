// libarchive over one of our streams: the one stream that a compressed file holds, or the members
// of an archive one after the other. It never seeks, so what comes before damage is always read; it
// writes nothing, and starts no program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "adapters/files/archive_library.h"
#include "adapters/files/packing.h"
#include "adapters/files/unpacked_reader.h"

namespace faultline {

class ArchiveStream {
 public:
  /// All must live as long as this; `name` is the packed stream's.
  ArchiveStream(InputReader& source, Packing packing, const std::string& name, Reading& reading);
  ~ArchiveStream();
  ArchiveStream(const ArchiveStream&) = delete;
  ArchiveStream& operator=(const ArchiveStream&) = delete;

  /// Goes to the next member. False at the end, and after an
  /// error, which is named then.
  bool next();

  [[nodiscard]] std::string member_name() const;
  [[nodiscard]] Instant member_modified() const;
  /// 0 if it is not known.
  [[nodiscard]] std::uint64_t member_bytes() const;
  /// It has bytes of its own: no folder, link or device.
  [[nodiscard]] bool member_is_file() const;
  [[nodiscard]] bool member_is_folder() const;
  [[nodiscard]] bool member_is_encrypted() const;

  /// Of the current member; at most 0 as libarchive has it.
  /// What is whole of it comes before an error; holes are zeros.
  la_ssize_t read_member(std::span<char> into);
  [[nodiscard]] const std::optional<Error>& source_error() const { return source_error_; }
  [[nodiscard]] std::string problem() const;
  /// It ended with an error, not at its end.
  [[nodiscard]] bool failed() const { return failed_; }
  /// The current member's damage is the archive's: nothing can be read beyond it.
  [[nodiscard]] bool broke_off() const { return broke_off_ && !source_error_; }

 private:
  void open(Packing packing);
  bool support(Packing packing);
  int next_block();
  static la_ssize_t give(archive* handle, void* self, const void** block);

  InputReader& source_;
  const std::string& name_;
  Reading& reading_;
  const ArchiveLibrary& library_;
  archive* handle_ = nullptr;
  archive_entry* member_ = nullptr;
  std::vector<char> packed_;
  std::span<const char> block_;      // of the member, not yet given
  std::uint64_t block_offset_ = 0;   // where in the member it begins
  std::uint64_t member_offset_ = 0;  // what was given
  std::optional<Error> source_error_;
  bool ended_ = false;
  bool failed_ = false;
  bool broke_off_ = false;
};

/// The bytes of the stream's current member.
class MemberReader final : public UnpackedReader {
 public:
  MemberReader(ArchiveStream& archive, const std::string& name, Reading& reading)
      : UnpackedReader(name, reading), archive_(archive) {}

 private:
  std::size_t unpack(std::span<char> into) override;

  ArchiveStream& archive_;
};

}  // namespace faultline
