// libsystemd's journal reader, loaded when a journal is read. An agent that follows /dev/kmsg or a
// file does without it and the compression libraries that it brings.
#pragma once

#include <systemd/sd-journal.h>

namespace faultline {

/// The functions of libsystemd that we use; all null if it is not installed. The types are
/// libsystemd's own.
struct JournalLibrary {
  decltype(&::sd_journal_open) open = nullptr;
  decltype(&::sd_journal_open_directory) open_directory = nullptr;
  decltype(&::sd_journal_close) close = nullptr;
  decltype(&::sd_journal_set_data_threshold) set_data_threshold = nullptr;
  decltype(&::sd_journal_add_match) add_match = nullptr;
  decltype(&::sd_journal_has_runtime_files) has_runtime_files = nullptr;
  decltype(&::sd_journal_has_persistent_files) has_persistent_files = nullptr;
  decltype(&::sd_journal_get_fd) get_fd = nullptr;
  decltype(&::sd_journal_process) process = nullptr;
  decltype(&::sd_journal_seek_cursor) seek_cursor = nullptr;
  decltype(&::sd_journal_test_cursor) test_cursor = nullptr;
  decltype(&::sd_journal_seek_tail) seek_tail = nullptr;
  decltype(&::sd_journal_next) next = nullptr;
  decltype(&::sd_journal_previous) previous = nullptr;
  decltype(&::sd_journal_get_cursor) get_cursor = nullptr;
  decltype(&::sd_journal_get_data) get_data = nullptr;
  decltype(&::sd_journal_get_realtime_usec) get_realtime_usec = nullptr;

  [[nodiscard]] bool loaded() const { return open != nullptr; }
};

/// Loads it at the first call; stays loaded. Thread-safe.
const JournalLibrary& journal_library();

}  // namespace faultline
