#include "tests/cases/operation_job.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace faultline {
namespace {

constexpr Instant job_start{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1}};
constexpr std::size_t told_pending_max = 4;

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
    while (hand_in() || finish()) now_ += std::chrono::milliseconds{5};
  }

  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> events;
    for (int rank = 0; rank < story_.shape.ranks(); ++rank) {
      if (story_.fault == JobFault::dies && rank == story_.rank) continue;
      tell(rank, events);
    }
    return events;
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
      const bool same = own.lane != "collective" ||
                        (operation->op == own.op && operation->elements == own.elements &&
                         operation->dtype == own.dtype);
      if (!same) return false;
    }
    for (Operation* operation : met) operation->done = true;
    return true;
  }

  [[nodiscard]] Event event_of(int rank, EventKind kind, Fields fields) const {
    Event event;
    event.source = EventSource::collective_trace;
    event.kind = kind;
    event.attempt = AttemptId{"77", 0};
    event.subject = Subject::of_rank(*event.attempt, rank);
    event.raw.path = "rank_" + std::to_string(rank);
    event.clock = ClockDomain::node_wall;
    event.observed_at = now_;
    event.fields = std::move(fields);
    return event;
  }

  void give(Event event, std::vector<Event>& events) const {
    event.raw.offset = events.size();
    event.id = make_event_id(event);
    event.received_at = event.observed_at;
    events.push_back(std::move(event));
  }

  void tell(int number, std::vector<Event>& events) const {
    const Rank& rank = ranks_[static_cast<std::size_t>(number)];
    give(event_of(number, EventKind::trace_read, {{"format", "flight_recorder"}}), events);
    for (const auto& [name, members] : groups_) {
      if (std::find(members.begin(), members.end(), number) == members.end()) continue;
      std::string text;
      for (const int member : members) text += (text.empty() ? "" : ",") + std::to_string(member);
      const std::string desc = name.substr(0, name.find_first_of("0123456789"));
      give(event_of(number, EventKind::group_seen,
                    {{"group", name}, {"desc", desc}, {"ranks", text}}),
           events);
    }
    for (const auto& [lane, last] : rank.next_seq) tell_lane(number, lane, last, events);
  }

  void tell_lane(int number, const std::pair<std::string, std::string>& lane, int last,
                 std::vector<Event>& events) const {
    const Rank& rank = ranks_[static_cast<std::size_t>(number)];
    const Operation* completed = nullptr;
    std::vector<const Operation*> pending;
    for (std::size_t i = 0; i < rank.handed_in; ++i) {
      const Operation& operation = rank.program[i];
      if (operation.group != lane.first || operation.lane != lane.second) continue;
      if (operation.done) completed = &operation;
      if (!operation.done) pending.push_back(&operation);
    }
    const auto tell_one = [&](const Operation& operation, EventKind kind) {
      const bool started = story_.timing && !operation.stuck && at_front(rank, operation);
      const std::string size = std::to_string(operation.elements);
      Event event = event_of(number, kind,
                             {{"group", operation.group},
                              {"lane", operation.lane},
                              {"op", operation.op},
                              {"seq", std::to_string(operation.seq)},
                              {"record", std::to_string(operation.record)},
                              {"last", std::to_string(last)},
                              {"in_sizes", size},
                              {"out_sizes", size},
                              {"in_dtypes", operation.dtype},
                              {"out_dtypes", operation.dtype},
                              {"frame", "train.py:" + std::to_string(100 + operation.record)},
                              {"state", operation.done ? "completed"
                                        : started      ? "started"
                                                       : "scheduled"}});
      event.observed_at = operation.created;
      give(std::move(event), events);
    };
    if (completed != nullptr) tell_one(*completed, EventKind::operation_completed);
    for (std::size_t i = 0; i < std::min(pending.size(), told_pending_max); ++i)
      tell_one(*pending[i], EventKind::operation_pending);
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

std::vector<Event> traces_of(const JobStory& story) { return Job(story).events(); }

}  // namespace faultline
