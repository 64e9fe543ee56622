#include "adapters/journal/journal_library.h"

#include <dlfcn.h>

namespace faultline {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

JournalLibrary load() {
  JournalLibrary j;
  void* library = ::dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return j;
  const bool whole = find(library, "sd_journal_open", j.open) &&
                     find(library, "sd_journal_open_directory", j.open_directory) &&
                     find(library, "sd_journal_close", j.close) &&
                     find(library, "sd_journal_set_data_threshold", j.set_data_threshold) &&
                     find(library, "sd_journal_add_match", j.add_match) &&
                     find(library, "sd_journal_get_fd", j.get_fd) &&
                     find(library, "sd_journal_process", j.process) &&
                     find(library, "sd_journal_seek_cursor", j.seek_cursor) &&
                     find(library, "sd_journal_test_cursor", j.test_cursor) &&
                     find(library, "sd_journal_seek_tail", j.seek_tail) &&
                     find(library, "sd_journal_next", j.next) &&
                     find(library, "sd_journal_previous", j.previous) &&
                     find(library, "sd_journal_get_cursor", j.get_cursor) &&
                     find(library, "sd_journal_get_data", j.get_data) &&
                     find(library, "sd_journal_get_realtime_usec", j.get_realtime_usec);
  return whole ? j : JournalLibrary{};
}

}  // namespace

const JournalLibrary& journal_library() {
  static const JournalLibrary library = load();
  return library;
}

}  // namespace faultline
