// What the agent remembers between its runs: when it first ran here, the boot it last ran in, and
// how far it had read each log. It is what keeps old lines from being reported as news.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace faultline {

class AgentState {
 public:
  /// Reads the file; a missing or damaged one is a first start, and damage() tells which. `boot_id`
  /// is that of now: cursors of another boot are kept only for sources that know boots themselves,
  /// /dev/kmsg and the journal.
  static AgentState load(std::filesystem::path file, std::string boot_id, Instant now);

  /// What is wrong with the file; "" if it was whole, or there was none. How far the logs had been
  /// read is not known then.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  /// True if the last run was in another boot, or there was none.
  [[nodiscard]] bool new_boot() const { return new_boot_; }
  [[nodiscard]] Instant first_start() const { return first_start_; }
  [[nodiscard]] std::string cursor(std::string_view source) const;
  void set_cursor(std::string_view source, std::string cursor);
  void drop_cursor(std::string_view source);
  /// True if something has not been saved.
  [[nodiscard]] bool changed() const { return changed_; }
  Status save();

 private:
  Status read(std::string_view content, Instant now);

  std::filesystem::path file_;
  std::string boot_id_;
  std::string damage_;
  Instant first_start_;
  bool new_boot_ = true;
  bool changed_ = true;
  std::map<std::string, std::string, std::less<>> cursors_;
};

}  // namespace faultline
