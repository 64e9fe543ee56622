#include "ingest/flight_recorder.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "ingest/json_tree.h"
#include "ingest/pickle.h"
#include "ingest/recorder_sizes.h"

namespace faultline {
namespace {

using Kind = TreeValue::Kind;

enum class Key {
  record_id,
  pg_id,
  process_group,
  collective_seq_id,
  p2p_seq_id,
  is_p2p,
  profiling_name,
  state,
  retired,
  input_sizes,
  output_sizes,
  input_dtypes,
  output_dtypes,
  created_ns,
  created_us,
  started_ns,
  completed_ns,
  timeout_ms,
  frames,
  of_no_use,
  unknown
};

constexpr auto keys = std::to_array<std::pair<std::string_view, Key>>({
    {"frames", Key::frames},
    {"record_id", Key::record_id},
    {"pg_id", Key::pg_id},
    {"process_group", Key::process_group},
    {"collective_seq_id", Key::collective_seq_id},
    {"seq_id", Key::collective_seq_id},  // before 2.0
    {"p2p_seq_id", Key::p2p_seq_id},
    {"is_p2p", Key::is_p2p},
    {"profiling_name", Key::profiling_name},
    {"time_created_ns", Key::created_ns},
    {"time_created_us", Key::created_us},  // before 2.0
    {"input_sizes", Key::input_sizes},
    {"input_dtypes", Key::input_dtypes},
    {"output_sizes", Key::output_sizes},
    {"output_dtypes", Key::output_dtypes},
    {"state", Key::state},
    {"time_discovered_started_ns", Key::started_ns},
    {"time_discovered_completed_ns", Key::completed_ns},
    {"retired", Key::retired},
    {"timeout_ms", Key::timeout_ms},
    {"duration_ms", Key::of_no_use},
    {"op_id", Key::of_no_use},
    {"thread_id", Key::of_no_use},
    {"thread_name", Key::of_no_use},
});

/// A key is written once and then referred to, so it is mostly known by where its text lies.
class KeyTable {
 public:
  Key find(std::string_view text) {
    Slot& slot = slots_[reinterpret_cast<std::uintptr_t>(text.data()) % slots_.size()];
    if (slot.data != text.data() || slot.size != text.size())
      slot = {text.data(), text.size(), look_up(text)};
    return slot.key;
  }

 private:
  struct Slot {
    const char* data = nullptr;
    std::size_t size = 0;
    Key key = Key::unknown;
  };
  static Key look_up(std::string_view text) {
    const auto* found =
        std::find_if(keys.begin(), keys.end(), [&](const auto& key) { return key.first == text; });
    return found == keys.end() ? Key::unknown : found->second;
  }

  std::array<Slot, 512> slots_{};
};

class DumpReader {
 public:
  explicit DumpReader(const ValueTree& tree)
      : root_(tree.root()), frame_of_(tree.containers(), no_frame) {}

  Result<FlightRecorderDump> read() {
    if (root_.kind() == Kind::dict) FAULTLINE_TRY(read_head());
    const TreeValue entries = root_.kind() == Kind::list ? root_ : root_.find("entries");
    if (!is_dump(entries)) return Error{ErrorCode::invalid_argument, "not a flight-recorder dump"};
    read_entries(entries);
    if (visits_ > recorder_visits_max)
      return Error{ErrorCode::exhausted, "it refers to its parts more often than the limit allows"};
    return std::move(dump_);
  }

  void count(Counters& counters) const {
    if (unknown_ > 0) counters.add("flight_recorder_unknown_fields_total", unknown_);
    if (odd_ > 0) counters.add("flight_recorder_odd_values_total", odd_);
    if (left_out_ > 0) counters.add("flight_recorder_left_out_total", left_out_);
  }

 private:
  static constexpr std::uint32_t no_frame = std::numeric_limits<std::uint32_t>::max();

  // --- values ---

  static std::string bounded(std::string_view text, std::size_t bytes_max) {
    return std::string(text.substr(0, bytes_max));
  }
  /// What is none or not there is no odd value, it is only not known.
  template <class Read>
  auto expect(const TreeValue& value, Read read) -> decltype(read(value)) {
    auto got = read(value);
    if (!got && value.kind() > Kind::none) ++odd_;
    return got;
  }
  std::int64_t number(const TreeValue& value) {
    return expect(value,
                  [](const TreeValue& in) {
                    if (in.kind() == Kind::text) return parse_number<std::int64_t>(in.text());
                    return in.integer();
                  })
        .value_or(-1);
  }
  bool boolean(const TreeValue& value) { return number(value) > 0; }
  /// JSON has 0 where a pickle has none.
  Instant instant(const TreeValue& value, std::int64_t unit_ns = 1) {
    const std::int64_t count = number(value);
    if (count <= 0 || count > std::numeric_limits<std::int64_t>::max() / unit_ns) return {};
    return Instant{Duration{count * unit_ns}};
  }
  std::string text(const TreeValue& value, std::size_t bytes_max = recorder_text_bytes_max) {
    if (value.kind() > Kind::none && value.kind() != Kind::text) ++odd_;
    return bounded(value.text(), bytes_max);
  }

  // --- groups ---

  Status read_head() {
    dump_.version = text(root_.find("version"));
    const std::string_view major =
        std::string_view(dump_.version)
            .substr(0, std::min(dump_.version.find('.'), dump_.version.size()));
    if (!dump_.version.empty() && parse_number<int>(major).value_or(3) > 2)
      return Error{ErrorCode::invalid_argument, "a flight-recorder dump of version " +
                                                    printable(dump_.version, 32) +
                                                    "; versions up to 2.x are read"};
    dump_.comm_lib_version = text(root_.find("comm_lib_version"));
    read_groups(root_.find("pg_config"));
    read_statuses(root_.find("pg_status"));
    static constexpr auto known = std::to_array<std::string_view>(
        {"version", "comm_lib_version", "pg_config", "pg_status", "entries", "nccl_comm_state"});
    const auto pairs = root_.items();
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      if (std::find(known.begin(), known.end(), pairs[i].text()) == known.end()) ++unknown_;
    }
    return ok_status();
  }

  void read_groups(const TreeValue& config) {
    const auto pairs = config.items();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const TreeValue& about = pairs[i + 1];
      const TreeValue name = about.find("name");
      const auto index = group_named(name.kind() == Kind::text ? name.text() : pairs[i].text());
      if (!index) continue;
      RecorderGroup& group = dump_.groups[*index];
      group.desc = text(about.find("desc"));
      group.offset = about.offset();
      read_ranks(about.find("ranks"), group.ranks);
    }
  }

  /// As a list, or as the text of one: "[0, 1, 2]".
  void read_ranks(const TreeValue& ranks, std::vector<std::int32_t>& out) {
    out.clear();
    for (const TreeValue& rank : ranks.items()) add_rank(rank.integer(), out);
    std::string_view rest = ranks.text();
    constexpr std::string_view digits = "0123456789";
    while (true) {
      rest.remove_prefix(std::min(rest.find_first_of(digits), rest.size()));
      if (rest.empty()) return;
      const auto size = std::min(rest.find_first_not_of(digits), rest.size());
      add_rank(parse_number<std::int64_t>(rest.substr(0, size)), out);
      rest.remove_prefix(size);
    }
  }
  void add_rank(std::optional<std::int64_t> rank, std::vector<std::int32_t>& out) {
    if (!rank || *rank < 0 || *rank > std::numeric_limits<std::int32_t>::max()) {
      ++odd_;
    } else if (ranks_ >= recorder_ranks_max) {
      ++left_out_;
    } else {
      ++ranks_;
      out.push_back(static_cast<std::int32_t>(*rank));
    }
  }

  void read_statuses(const TreeValue& statuses) {
    const auto pairs = statuses.items();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (dump_.statuses.size() >= recorder_groups_max) return void(++left_out_);
      const TreeValue& about = pairs[i + 1];
      dump_.statuses.push_back({number(pairs[i]), number(about.find("last_enqueued_collective")),
                                number(about.find("last_started_collective")),
                                number(about.find("last_completed_collective"))});
    }
  }

  /// Its place among the dump's groups, where it is added if it is not there.
  std::optional<std::uint32_t> group_named(std::string_view name) {
    name = name.substr(0, recorder_text_bytes_max);
    if (last_group_ < dump_.groups.size() && dump_.groups[last_group_].name == name)
      return last_group_;
    const auto known = group_of_.find(name);
    if (known != group_of_.end()) return last_group_ = known->second;
    if (dump_.groups.size() >= recorder_groups_max) return ++left_out_, std::nullopt;
    last_group_ = static_cast<std::uint32_t>(dump_.groups.size());
    group_of_.emplace(name, last_group_);
    dump_.groups.push_back({std::string(name), {}, {}, 0});
    return last_group_;
  }

  // --- entries ---

  /// A rank that has done nothing yet has a head and no entries; the oldest dumps are entries
  /// alone.
  [[nodiscard]] bool is_dump(const TreeValue& entries) const {
    if (!dump_.version.empty() && root_.find("pg_config").kind() == Kind::dict) return true;
    return !entries.items().empty() && !entries.items()[0].find("profiling_name").text().empty();
  }

  void read_entries(const TreeValue& entries) {
    auto items = entries.items();
    if (items.size() > recorder_entries_max) {
      dump_.entries_left_out = items.size() - recorder_entries_max;
      items = items.last(recorder_entries_max);
    }
    dump_.entries.reserve(items.size());
    for (const TreeValue& item : items) {
      if (item.kind() != Kind::dict) {
        ++odd_;
        continue;
      }
      read_entry(item);
      if (visits_ > recorder_visits_max) return;
    }
  }

  void read_entry(const TreeValue& item) {
    RecorderEntry& entry = dump_.entries.emplace_back();
    entry.offset = item.offset();
    std::optional<std::uint32_t> group;
    bool says_state = false, says_p2p = false;
    const auto pairs = item.items();
    visits_ += pairs.size();
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const TreeValue& value = pairs[i + 1];
      const Key key = keys_.find(pairs[i].text());
      if (key == Key::process_group) group = read_group(value);
      if (key == Key::state) says_state = read_state(value, entry);
      if (key == Key::is_p2p) says_p2p = true;
      read_field(key, value, entry);
    }
    if (!group) group = group_named(std::to_string(entry.pg_id));
    if (!group) return dump_.entries.pop_back();
    entry.group = *group;
    if (!says_state) entry.state = state_of_times(entry);
    if (!says_p2p) entry.is_p2p = looks_like_p2p(entry.profiling_name);
  }

  void read_field(Key key, const TreeValue& value, RecorderEntry& entry) {
    switch (key) {
      case Key::record_id: entry.record_id = number(value); break;
      case Key::pg_id: entry.pg_id = number(value); break;
      case Key::collective_seq_id: entry.collective_seq_id = number(value); break;
      case Key::p2p_seq_id: entry.p2p_seq_id = number(value); break;
      case Key::is_p2p: entry.is_p2p = boolean(value); break;
      case Key::retired: entry.retired = boolean(value); break;
      case Key::profiling_name: entry.profiling_name = text(value); break;
      case Key::input_sizes: entry.in_sizes = sizes(value); break;
      case Key::output_sizes: entry.out_sizes = sizes(value); break;
      case Key::input_dtypes: entry.in_dtypes = dtypes(value); break;
      case Key::output_dtypes: entry.out_dtypes = dtypes(value); break;
      case Key::created_ns: entry.created = instant(value); break;
      case Key::created_us: entry.created = instant(value, 1000); break;
      case Key::started_ns: entry.started = instant(value); break;
      case Key::completed_ns: entry.completed = instant(value); break;
      case Key::timeout_ms: entry.timeout_ms = number(value); break;
      case Key::frames: read_frames(value, entry); break;
      case Key::process_group:
      case Key::state:
      case Key::of_no_use: break;
      case Key::unknown: ++unknown_; break;
    }
  }

  /// (name, description), or the name alone.
  std::optional<std::uint32_t> read_group(const TreeValue& value) {
    const auto parts = value.items();
    if (value.kind() == Kind::text) return group_named(value.text());
    if (value.kind() != Kind::list || parts.empty() || parts[0].kind() != Kind::text)
      return ++odd_, std::nullopt;
    const auto index = group_named(parts[0].text());
    if (index && parts.size() > 1 && dump_.groups[*index].desc.empty())
      dump_.groups[*index].desc = text(parts[1]);
    return index;
  }

  bool read_state(const TreeValue& value, RecorderEntry& entry) {
    const auto state = parse_enum<OperationState>(value.text());
    if (state) entry.state = *state;
    if (!state) ++odd_;
    return state.has_value();
  }
  static OperationState state_of_times(const RecorderEntry& entry) {
    if (known(entry.completed)) return OperationState::completed;
    return known(entry.started) ? OperationState::started : OperationState::scheduled;
  }
  static bool looks_like_p2p(std::string_view name) {
    return name.find(":send ") != std::string_view::npos ||
           name.find(":recv ") != std::string_view::npos;
  }

  std::string sizes(const TreeValue& value) {
    for (const TreeValue& shape : value.items()) visits_ += 1 + shape.items().size();
    if (value.kind() != Kind::list) return ++odd_, std::string();
    if (visits_ > recorder_visits_max) return {};
    return sizes_text(value, recorder_text_bytes_max);
  }
  std::string dtypes(const TreeValue& value) {
    visits_ += value.items().size();
    if (value.kind() != Kind::list) return ++odd_, std::string();
    return dtypes_text(value, recorder_text_bytes_max);
  }

  void read_frames(const TreeValue& value, RecorderEntry& entry) {
    auto items = value.items();
    if (items.size() > recorder_stack_frames_max) {
      left_out_ += items.size() - recorder_stack_frames_max;
      items = items.first(recorder_stack_frames_max);
    }
    visits_ += items.size();
    entry.frames.reserve(items.size());
    for (const TreeValue& item : items) {
      const std::uint32_t frame = item.kind() == Kind::dict ? frame_of(item) : no_frame;
      if (frame == no_frame) {
        ++odd_;
      } else {
        entry.frames.push_back(frame);
      }
    }
  }
  /// Stacks share their frames.
  std::uint32_t frame_of(const TreeValue& item) {
    std::uint32_t& frame = frame_of_[item.number()];
    if (frame == no_frame && dump_.frames.size() < recorder_frames_max) {
      frame = static_cast<std::uint32_t>(dump_.frames.size());
      dump_.frames.push_back({text(item.find("name")),
                              text(item.find("filename"), recorder_path_bytes_max),
                              number(item.find("line"))});
    }
    return frame;
  }

  TreeValue root_;
  FlightRecorderDump dump_;
  KeyTable keys_;
  std::map<std::string, std::uint32_t, std::less<>> group_of_;
  std::uint32_t last_group_ = 0;
  std::vector<std::uint32_t> frame_of_;  // by the number of the container that says it
  std::size_t visits_ = 0, ranks_ = 0;
  std::uint64_t unknown_ = 0, odd_ = 0, left_out_ = 0;
};

bool is_json(std::string_view bytes) {
  const auto first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (bytes[first] == '{' || bytes[first] == '[');
}

}  // namespace

Result<FlightRecorderDump> read_flight_recorder(std::string_view bytes, Counters& counters,
                                                const TreeLimits& limits) {
  auto tree = is_json(bytes) ? read_json_tree(bytes, limits) : read_pickle(bytes, limits);
  if (!tree) return tree.error();
  DumpReader reader(*tree);
  auto dump = reader.read();
  reader.count(counters);
  return dump;
}

}  // namespace faultline
