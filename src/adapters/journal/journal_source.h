// The kernel's lines of a systemd journal: of this machine, or of a folder with journal files.
// Where the journal is, it has what the kernel's own ring has long overwritten.
#pragma once

#include <string>

#include "agent/ports.h"

struct sd_journal;

namespace faultline {

class JournalSource final : public LogSource {
 public:
  /// `folder` "" for this machine's journal.
  explicit JournalSource(std::string folder) : folder_(std::move(folder)) {}
  ~JournalSource() override;
  JournalSource(const JournalSource&) = delete;
  JournalSource& operator=(const JournalSource&) = delete;

  [[nodiscard]] std::string path() const override {
    return folder_.empty() ? "journal" : "journal:" + folder_;
  }
  /// unavailable while it cannot be opened, permission_denied while no file of this machine's
  /// journal can be read. Each entry as "2026-11-29T21:18:32.123456Z HOST kernel: MESSAGE", offset
  /// its time in microseconds.
  Result<std::vector<Chunk>> poll(std::size_t bytes_max) override;
  [[nodiscard]] int wait_descriptor() const override { return descriptor_; }
  [[nodiscard]] std::string cursor() const override { return cursor_; }
  void resume(std::string_view cursor) override { cursor_ = cursor; }

 private:
  Status open();
  Status prepare();
  [[nodiscard]] Status readable() const;
  Status place();
  void close();
  void take_entry(std::vector<Chunk>& chunks, std::size_t& bytes);
  [[nodiscard]] std::string field(const char* name) const;

  std::string folder_;
  sd_journal* journal_ = nullptr;
  int descriptor_ = -1;
  std::string cursor_;
  bool lost_place_ = false;  // the entry that the cursor names was rotated away
  bool at_entry_ = false;    // the present entry has not been taken yet
};

}  // namespace faultline
