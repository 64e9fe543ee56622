#include "tests/cases/operation_job.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "ingest/flight_recorder_events.h"
#include "tests/fixtures/flight_recorder_writer.h"

namespace faultline {
namespace {

constexpr Duration move_time = std::chrono::milliseconds{5};
constexpr Instant job_start{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}};

struct Operation {
  std::string group, lane, op;  // lane "collective", "send>5", "recv<5"
  int elements = 0;
  std::string dtype = "Float";
  bool overlaps = false;  // on a stream of its own
  // As it goes:
  int seq = 0, record = 0;
  bool done = false, stuck = false;
  Instant created;
};

struct Rank {
  std::vector<Operation> program;
  std::size_t handed_in = 0;
  std::size_t stops_at = SIZE_MAX;
  int ahead = 1;
  std::map<std::pair<std::string, std::string>, int> next_seq;
};

struct Place {
  int data, tensor, stage;
};

Place place_of(const JobShape& shape, int rank) {
  return {rank / shape.tensor % shape.data, rank % shape.tensor,
          rank / (shape.tensor * shape.data)};
}
int rank_at(const JobShape& shape, const Place& place) {
  return (place.stage * shape.data + place.data) * shape.tensor + place.tensor;
}

std::string tensor_group(const JobShape& shape, const Place& place) {
  return "tp" + std::to_string(place.stage * shape.data + place.data);
}
std::string data_group(const JobShape& shape, const Place& place) {
  return "dp" + std::to_string(place.stage * shape.tensor + place.tensor);
}
std::string pipeline_group(const JobShape& shape, const Place& place) {
  return "pp" + std::to_string(place.data * shape.tensor + place.tensor);
}

class Program {
 public:
  Program(const JobShape& shape, int rank) : shape_(shape), place_(place_of(shape, rank)) {
    for (int step = 0; step < shape.steps; ++step) {
      for (int micro = 0; micro < shape.microbatches; ++micro) pass(-1, +1);
      for (int micro = 0; micro < shape.microbatches; ++micro) pass(+1, -1);
      if (shape.data > 1) {
        add(data_group(shape, place_), "all_reduce", 8192, true);
        add(data_group(shape, place_), "all_reduce", 4096, true);
      }
      add("world", "all_reduce", 1, false);
    }
  }
  std::vector<Operation> take() { return std::move(operations_); }

 private:
  void pass(int from, int to) {
    transfer("recv<", from);
    for (int layer = 0; layer < shape_.layers && shape_.tensor > 1; ++layer)
      add(tensor_group(shape_, place_), "all_reduce", 1024, false);
    transfer("send>", to);
  }
  void transfer(const std::string& direction, int to) {
    const int stage = place_.stage + to;
    if (stage < 0 || stage >= shape_.pipeline) return;
    Operation operation;
    operation.group = pipeline_group(shape_, place_);
    operation.lane =
        direction + std::to_string(rank_at(shape_, {place_.data, place_.tensor, stage}));
    operation.op = direction.substr(0, 4);
    operation.elements = 512;
    operations_.push_back(operation);
  }
  void add(const std::string& group, const std::string& op, int elements, bool overlaps) {
    Operation operation;
    operation.group = group;
    operation.lane = "collective";
    operation.op = op;
    operation.elements = elements;
    operation.overlaps = overlaps;
    operations_.push_back(operation);
  }

  const JobShape& shape_;
  Place place_;
  std::vector<Operation> operations_;
};

class Job {
 public:
  explicit Job(const JobStory& story) : story_(story), groups_(groups_of(story.shape)) {
    for (int rank = 0; rank < story.shape.ranks(); ++rank) {
      Rank made;
      made.program = Program(story.shape, rank).take();
      made.ahead = story.shape.ahead +
                   (story.shape.ahead_jitter == 0 ? 0 : rank * 7 % (story.shape.ahead_jitter + 1));
      ranks_.push_back(std::move(made));
    }
    break_it();
    int moves = 0;
    while (hand_in() || finish()) {
      now_ += move_time;
      see(moves++);
    }
    see(to_the_end);
  }

  /// By rank; of one that died there is none.
  [[nodiscard]] std::map<int, FlightRecorderDump> dumps() const {
    std::map<int, FlightRecorderDump> dumps;
    for (int rank = 0; rank < story_.shape.ranks(); ++rank) {
      if (story_.fault != JobFault::dies || rank != story_.rank)
        dumps.emplace(rank, seen_.at(rank));
    }
    return dumps;
  }

 private:
  void break_it() {
    if (story_.fault == JobFault::none) return;
    Rank& rank = ranks_.at(static_cast<std::size_t>(story_.rank));
    const auto at = static_cast<std::size_t>(story_.at);
    FAULTLINE_CHECK(at < rank.program.size());
    Operation& operation = rank.program[at];
    switch (story_.fault) {
      case JobFault::stops:
      case JobFault::dies: rank.stops_at = at; break;
      case JobFault::other_op: operation.op = "broadcast"; break;
      case JobFault::other_size: operation.elements += 1; break;
      case JobFault::other_dtype: operation.dtype = "Half"; break;
      case JobFault::leaves_out: rank.program.erase(rank.program.begin() + story_.at); break;
      case JobFault::swaps: std::swap(rank.program.at(at), rank.program.at(at + 1)); break;
      case JobFault::hangs_on_gpu: operation.stuck = true; break;
      case JobFault::none: break;
    }
  }

  /// Writes the dumps of those ranks whose moment this is.
  void see(int moves) {
    for (int rank = 0; rank < story_.shape.ranks(); ++rank) {
      const int jitter = story_.moment_jitter == 0 ? 0 : rank * 5 % (story_.moment_jitter + 1);
      if (moves == to_the_end || moves == story_.moment + jitter)
        seen_.try_emplace(rank, dump_of(rank));
    }
  }

  bool hand_in() {
    bool moved = false;
    for (Rank& rank : ranks_) {
      const auto open = std::count_if(rank.program.begin(),
                                      rank.program.begin() + static_cast<long>(rank.handed_in),
                                      [](const Operation& operation) { return !operation.done; });
      if (open >= rank.ahead || rank.handed_in >= rank.program.size() ||
          rank.handed_in >= rank.stops_at)
        continue;
      Operation& operation = rank.program[rank.handed_in];
      operation.seq = ++rank.next_seq[{operation.group, operation.lane}];
      operation.record = static_cast<int>(rank.handed_in++);
      operation.created = now_;
      moved = true;
    }
    return moved;
  }

  /// The one with this number if it is what the rank's GPU would do next.
  Operation* ready(int number, const std::string& group, const std::string& lane, int seq) {
    Rank& rank = ranks_[static_cast<std::size_t>(number)];
    bool blocked = false;
    for (std::size_t i = 0; i < rank.handed_in; ++i) {
      Operation& operation = rank.program[i];
      if (operation.done) continue;
      const bool wanted =
          operation.group == group && operation.lane == lane && operation.seq == seq;
      if (wanted) return blocked || operation.stuck ? nullptr : &operation;
      const bool same_lane = operation.group == group && operation.lane == lane;
      blocked = blocked || same_lane || !operation.overlaps;
    }
    return nullptr;
  }

  bool finish() {
    bool moved = false;
    for (int number = 0; number < story_.shape.ranks(); ++number) {
      Rank& rank = ranks_[static_cast<std::size_t>(number)];
      for (std::size_t i = 0; i < rank.handed_in; ++i) {
        if (!rank.program[i].done) moved = finish_one(number, rank.program[i]) || moved;
      }
    }
    return moved;
  }

  bool finish_one(int number, const Operation& own) {
    std::vector<Operation*> met;
    if (own.lane != "collective") {
      const int peer = std::stoi(own.lane.substr(5));
      const std::string lane = (own.op == "send" ? "recv<" : "send>") + std::to_string(number);
      met = {ready(number, own.group, own.lane, own.seq), ready(peer, own.group, lane, own.seq)};
    } else {
      for (const int member : groups_.at(own.group))
        met.push_back(ready(member, own.group, own.lane, own.seq));
    }
    for (const Operation* operation : met) {
      if (operation == nullptr) return false;
      const bool same = (own.lane != "collective" || operation->op == own.op) &&
                        operation->elements == own.elements && operation->dtype == own.dtype;
      if (!same) return false;
    }
    for (Operation* operation : met) operation->done = true;
    return true;
  }

  [[nodiscard]] FlightRecorderDump dump_of(int number) const {
    const Rank& rank = ranks_[static_cast<std::size_t>(number)];
    FlightRecorderDump dump;
    dump.version = "2.10";
    std::map<std::string, std::uint32_t> index;
    for (const auto& [name, members] : groups_) {
      if (std::find(members.begin(), members.end(), number) == members.end()) continue;
      index[name] = static_cast<std::uint32_t>(dump.groups.size());
      const std::string desc = name.substr(0, name.find_first_of("0123456789"));
      dump.groups.push_back({name, desc, {members.begin(), members.end()}});
    }
    std::map<std::string, std::int64_t> transfers;
    for (std::size_t i = 0; i < rank.handed_in; ++i) {
      const Operation& operation = rank.program[i];
      RecorderEntry entry = entry_of(number, rank, operation);
      entry.group = index.at(operation.group);
      entry.pg_id = entry.group;
      if (entry.is_p2p) entry.p2p_seq_id = ++transfers[operation.group];
      entry.frames = {static_cast<std::uint32_t>(i)};
      dump.frames.push_back({"step", "/opt/train/train.py", 100 + static_cast<std::int64_t>(i)});
      dump.entries.push_back(std::move(entry));
    }
    return dump;
  }

  [[nodiscard]] RecorderEntry entry_of(int number, const Rank& rank,
                                       const Operation& operation) const {
    RecorderEntry entry;
    entry.record_id = operation.record;
    entry.is_p2p = operation.lane != "collective";
    entry.collective_seq_id = entry.is_p2p ? 0 : operation.seq;
    entry.p2p_seq_id = 0;
    entry.profiling_name = "nccl:" + operation.op;
    if (entry.is_p2p) {
      // Names carry ranks within the group.
      const std::string peer = place_in(operation.group, std::stoi(operation.lane.substr(5)));
      entry.profiling_name +=
          " " + place_in(operation.group, number) + (operation.op == "send" ? "->" : "<-") + peer;
    }
    entry.in_sizes = entry.out_sizes = std::to_string(operation.elements);
    entry.in_dtypes = entry.out_dtypes = operation.dtype;
    entry.created = operation.created;
    entry.timeout_ms = 600000;
    entry.retired = operation.done;
    const bool started = story_.timing && !operation.stuck && at_front(rank, operation);
    entry.state = operation.done ? OperationState::completed
                  : started      ? OperationState::started
                                 : OperationState::scheduled;
    return entry;
  }

  [[nodiscard]] std::string place_in(const std::string& group, int rank) const {
    const auto& members = groups_.at(group);
    return std::to_string(std::find(members.begin(), members.end(), rank) - members.begin());
  }

  static bool at_front(const Rank& rank, const Operation& operation) {
    for (std::size_t i = 0; i < rank.handed_in; ++i) {
      if (&rank.program[i] == &operation) return true;
      if (!rank.program[i].done) return false;
    }
    return false;
  }

  const JobStory& story_;
  std::map<std::string, std::vector<int>> groups_;
  std::vector<Rank> ranks_;
  Instant now_ = job_start;
  std::map<int, FlightRecorderDump> seen_;
};

}  // namespace

std::map<std::string, std::vector<int>> groups_of(const JobShape& shape) {
  std::map<std::string, std::vector<int>> groups;
  for (int rank = 0; rank < shape.ranks(); ++rank) {
    const Place place = place_of(shape, rank);
    groups["world"].push_back(rank);
    if (shape.tensor > 1) groups[tensor_group(shape, place)].push_back(rank);
    if (shape.data > 1) groups[data_group(shape, place)].push_back(rank);
    if (shape.pipeline > 1) groups[pipeline_group(shape, place)].push_back(rank);
  }
  return groups;
}

std::vector<std::string> operations_of(const JobShape& shape, int rank) {
  std::vector<std::string> names;
  for (const Operation& operation : Program(shape, rank).take()) {
    names.push_back(operation.group + " " +
                    (operation.lane == "collective" ? operation.op : operation.lane));
  }
  return names;
}

std::map<int, FlightRecorderDump> dumps_of(const JobStory& story) { return Job(story).dumps(); }

std::vector<Event> traces_of(const JobStory& story) {
  std::vector<Event> events;
  Counters counters;
  for (const auto& [rank, dump] : dumps_of(story)) {
    const std::string bytes =
        story.json ? flight_recorder_json(dump) : flight_recorder_pickle(dump);
    const auto read = read_flight_recorder(bytes, counters);
    FAULTLINE_CHECK(read.ok());
    Origin origin;
    origin.source = EventSource::collective_trace;
    origin.path = "rank_" + std::to_string(rank);
    origin.attempt = AttemptId{"77", 0};
    origin.rank = rank;
    if (!dump.entries.empty())
      origin.last_written = dump.entries.back().created + story.written_after;
    for (Event& event : flight_recorder_events(*read, origin, counters))
      events.push_back(std::move(event));
  }
  return events;
}

}  // namespace faultline
