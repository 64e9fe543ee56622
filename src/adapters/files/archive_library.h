// libarchive, loaded when something packed is read: a process that reads plain files does without
// it and the eight libraries that it brings.
#pragma once

#include <archive.h>
#include <archive_entry.h>

namespace faultline {

/// The functions of libarchive that we use; all null if it is not installed. The types are
/// libarchive's own.
struct ArchiveLibrary {
  decltype(&::archive_read_new) read_new = nullptr;
  decltype(&::archive_read_free) read_free = nullptr;
  decltype(&::archive_read_support_filter_bzip2) filter_bzip2 = nullptr;
  decltype(&::archive_read_support_filter_xz) filter_xz = nullptr;
  decltype(&::archive_read_support_filter_zstd) filter_zstd = nullptr;
  decltype(&::archive_read_support_format_empty) format_empty = nullptr;
  decltype(&::archive_read_support_format_raw) format_raw = nullptr;
  decltype(&::archive_read_support_format_tar) format_tar = nullptr;
  decltype(&::archive_read_support_format_zip_streamable) format_zip_streamable = nullptr;
  decltype(&::archive_read_open) read_open = nullptr;
  decltype(&::archive_read_next_header) read_next_header = nullptr;
  decltype(&::archive_read_data_block) read_data_block = nullptr;
  decltype(&::archive_error_string) error_string = nullptr;
  decltype(&::archive_set_error) set_error = nullptr;
  decltype(&::archive_entry_pathname) entry_pathname = nullptr;
  decltype(&::archive_entry_pathname_utf8) entry_pathname_utf8 = nullptr;
  decltype(&::archive_entry_filetype) entry_filetype = nullptr;
  decltype(&::archive_entry_hardlink) entry_hardlink = nullptr;
  decltype(&::archive_entry_size) entry_size = nullptr;
  decltype(&::archive_entry_size_is_set) entry_size_is_set = nullptr;
  decltype(&::archive_entry_mtime) entry_mtime = nullptr;
  decltype(&::archive_entry_mtime_is_set) entry_mtime_is_set = nullptr;
  decltype(&::archive_entry_is_data_encrypted) entry_is_data_encrypted = nullptr;

  [[nodiscard]] bool loaded() const { return read_new != nullptr; }
};

/// Loads it at the first call; stays loaded. Thread-safe.
const ArchiveLibrary& archive_library();

}  // namespace faultline
