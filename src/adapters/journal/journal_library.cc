#include "adapters/journal/journal_library.h"

#include "base/dynamic_library.h"

namespace faultline {
namespace {

JournalLibrary load() {
  JournalLibrary j;
  const DynamicLibrary library("libsystemd.so.0");
  if (!library.loaded()) return j;
  const bool whole = library.find("sd_journal_open", j.open) &&
                     library.find("sd_journal_open_directory", j.open_directory) &&
                     library.find("sd_journal_close", j.close) &&
                     library.find("sd_journal_set_data_threshold", j.set_data_threshold) &&
                     library.find("sd_journal_add_match", j.add_match) &&
                     library.find("sd_journal_has_runtime_files", j.has_runtime_files) &&
                     library.find("sd_journal_has_persistent_files", j.has_persistent_files) &&
                     library.find("sd_journal_get_fd", j.get_fd) &&
                     library.find("sd_journal_process", j.process) &&
                     library.find("sd_journal_seek_cursor", j.seek_cursor) &&
                     library.find("sd_journal_test_cursor", j.test_cursor) &&
                     library.find("sd_journal_seek_tail", j.seek_tail) &&
                     library.find("sd_journal_next", j.next) &&
                     library.find("sd_journal_previous", j.previous) &&
                     library.find("sd_journal_get_cursor", j.get_cursor) &&
                     library.find("sd_journal_get_data", j.get_data) &&
                     library.find("sd_journal_get_realtime_usec", j.get_realtime_usec);
  return whole ? j : JournalLibrary{};
}

}  // namespace

const JournalLibrary& journal_library() {
  static const JournalLibrary library = load();
  return library;
}

}  // namespace faultline
