#include "adapters/files/archive_library.h"

#include "base/dynamic_library.h"

namespace faultline {
namespace {

ArchiveLibrary load() {
  ArchiveLibrary a;
  const DynamicLibrary library("libarchive.so.13");
  if (!library.loaded()) return a;
  const bool whole =
      library.find("archive_read_new", a.read_new) &&
      library.find("archive_read_free", a.read_free) &&
      library.find("archive_read_support_filter_bzip2", a.filter_bzip2) &&
      library.find("archive_read_support_filter_xz", a.filter_xz) &&
      library.find("archive_read_support_filter_zstd", a.filter_zstd) &&
      library.find("archive_read_support_format_empty", a.format_empty) &&
      library.find("archive_read_support_format_raw", a.format_raw) &&
      library.find("archive_read_support_format_tar", a.format_tar) &&
      library.find("archive_read_support_format_zip_streamable", a.format_zip_streamable) &&
      library.find("archive_read_open", a.read_open) &&
      library.find("archive_read_next_header", a.read_next_header) &&
      library.find("archive_read_data_block", a.read_data_block) &&
      library.find("archive_error_string", a.error_string) &&
      library.find("archive_set_error", a.set_error) &&
      library.find("archive_entry_pathname", a.entry_pathname) &&
      library.find("archive_entry_pathname_utf8", a.entry_pathname_utf8) &&
      library.find("archive_entry_filetype", a.entry_filetype) &&
      library.find("archive_entry_hardlink", a.entry_hardlink) &&
      library.find("archive_entry_size", a.entry_size) &&
      library.find("archive_entry_size_is_set", a.entry_size_is_set) &&
      library.find("archive_entry_mtime", a.entry_mtime) &&
      library.find("archive_entry_mtime_is_set", a.entry_mtime_is_set) &&
      library.find("archive_entry_is_data_encrypted", a.entry_is_data_encrypted);
  return whole ? a : ArchiveLibrary{};
}

}  // namespace

const ArchiveLibrary& archive_library() {
  static const ArchiveLibrary library = load();
  return library;
}

}  // namespace faultline
