#include "agent/agent_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/small_file.h"
#include "model/json.h"

namespace faultline {
namespace {

constexpr std::uint64_t file_bytes_max = 4 * 1024 * 1024;
constexpr std::size_t cursors_max = 4096;

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

/// /dev/kmsg and the journal name the boot in their cursors. A plain file does not: what was added
/// to it before the reboot cannot be told from what came after.
bool boot_aware(std::string_view source) {
  return source == "/dev/kmsg" || source.starts_with("journal");
}

}  // namespace

AgentState AgentState::load(std::filesystem::path file, std::string boot_id, Instant now) {
  AgentState state;
  state.file_ = std::move(file);
  state.boot_id_ = std::move(boot_id);
  state.first_start_ = now;
  const auto content = read_small_file(state.file_, file_bytes_max);
  if (!content.ok() && content.error().code == ErrorCode::not_found) return state;
  const Status read = content.ok() ? state.read(*content, now) : Status(content.error());
  if (!read.ok()) state.damage_ = read.error().message;
  return state;
}

/// All of it or nothing: what a damaged file says of one log is not believed either.
Status AgentState::read(std::string_view content, Instant now) {
  const auto parsed = parse_json(content);
  if (!parsed.ok()) return parsed.error();
  const auto first = parse_instant(text_of(*parsed, "first_start"));
  const std::string boot = text_of(*parsed, "boot_id");
  const auto cursors = parsed->find("cursors");
  const bool whole = first && cursors != parsed->end() && cursors->is_object() &&
                     parsed->contains("boot_id") &&
                     std::all_of(cursors->begin(), cursors->end(),
                                 [](const auto& cursor) { return cursor.is_string(); });
  if (!whole) return Error{ErrorCode::corrupt, "not what an agent writes"};
  // A first start in the future means that the clock was wrong then or is now. Believing it would
  // silence the node.
  if (*first <= now) first_start_ = *first;
  new_boot_ = boot != boot_id_;
  for (const auto& [source, cursor] : cursors->items()) {
    if (cursors_.size() >= cursors_max) break;
    if (!new_boot_ || boot_aware(source)) cursors_[source] = cursor.get<std::string>();
  }
  return ok_status();
}

std::string AgentState::cursor(std::string_view source) const {
  const auto it = cursors_.find(source);
  return it == cursors_.end() ? std::string() : it->second;
}

void AgentState::set_cursor(std::string_view source, std::string cursor) {
  if (cursor.empty()) return;
  auto [it, fresh] = cursors_.try_emplace(std::string(source));
  if (!fresh && it->second == cursor) return;
  it->second = std::move(cursor);
  changed_ = true;
}

void AgentState::drop_cursor(std::string_view source) {
  const auto it = cursors_.find(source);
  if (it == cursors_.end()) return;
  cursors_.erase(it);
  changed_ = true;
}

Status AgentState::save() {
  nlohmann::json object = {
      {"boot_id", boot_id_}, {"first_start", to_text(first_start_)}, {"cursors", cursors_}};
  FAULTLINE_TRY(write_small_file(file_, dump(object), true));
  changed_ = false;
  return ok_status();
}

}  // namespace faultline
