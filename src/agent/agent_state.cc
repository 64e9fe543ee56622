#include "agent/agent_state.h"

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
  const auto parsed =
      content.ok() ? parse_json(content.value()) : Result<nlohmann::json>(content.error());
  if (!parsed.ok() || !parsed->is_object()) return state;
  const nlohmann::json& object = parsed.value();
  // A first start in the future means that the clock was wrong then or is now. Believing it would
  // silence the node.
  const auto first = parse_instant(text_of(object, "first_start"));
  if (first && *first <= now) state.first_start_ = *first;
  state.new_boot_ = text_of(object, "boot_id") != state.boot_id_;
  const auto cursors = object.find("cursors");
  if (cursors == object.end() || !cursors->is_object()) return state;
  for (const auto& [source, cursor] : cursors->items()) {
    if (!cursor.is_string() || state.cursors_.size() >= cursors_max) continue;
    if (!state.new_boot_ || boot_aware(source)) state.cursors_[source] = cursor.get<std::string>();
  }
  return state;
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
