#include "ingest/nccl_ras.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "ingest/nccl_names.h"
#include "ingest/rank_ranges.h"
#include "model/names.h"

namespace faultline {
namespace {

// ncclResult_t
constexpr std::int32_t unhandled_cuda_error = 1;
constexpr std::int32_t remote_error = 6;
constexpr std::int32_t in_progress = 7;

/// A process's use of one GPU is the same in all communicators.
using Member = std::tuple<std::string, std::int64_t, std::int32_t>;  // host, pid, device

Member member_of(const RasRank& rank) {
  return {rank.host, rank.pid, rank.nvml_dev >= 0 ? rank.nvml_dev : rank.cuda_dev};
}

bool is_told(const RasRank& rank) { return !rank.host.empty() || rank.pid != 0; }

/// True if both give each number to the same process, as two communicators of the whole job do.
bool numbered_alike(const RasCommunicator& left, const RasCommunicator& right) {
  if (left.ranks.size() != right.ranks.size() || left.ranks.empty()) return false;
  return std::all_of(left.ranks.begin(), left.ranks.end(), [&](const auto& entry) {
    const auto other = right.ranks.find(entry.first);
    return other != right.ranks.end() && is_told(entry.second) &&
           member_of(entry.second) == member_of(other->second);
  });
}

/// The communicator of the whole job; nullptr if none is that for certain.
const RasCommunicator* whole_job(const RasReport& report) {
  const RasCommunicator* largest = nullptr;
  bool certain = true;
  std::set<Member> members;
  for (const RasCommunicator& communicator : report.communicators) {
    for (const auto& [number, rank] : communicator.ranks) {
      if (is_told(rank)) members.insert(member_of(rank));
    }
    if (largest == nullptr || communicator.size > largest->size) {
      largest = &communicator;
      certain = true;
    } else if (communicator.size == largest->size) {
      certain = certain && numbered_alike(*largest, communicator);
    }
  }
  const bool whole = largest != nullptr && certain &&
                     members.size() <= static_cast<std::size_t>(std::max(0, largest->size));
  return whole ? largest : nullptr;
}

std::uint64_t total(const RasRank& rank) {
  std::uint64_t sum = 0;
  for (const auto& [op, count] : rank.launched) sum += count;
  return sum;
}

/// The kind of collective that tells the ranks apart, or else the most frequent one.
std::string telling_op(const RasCommunicator& communicator) {
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> extent;  // op -> least, most
  for (const auto& [number, rank] : communicator.ranks) {
    for (const auto& [op, count] : rank.launched) {
      const auto [entry, added] = extent.try_emplace(op, count, count);
      entry->second.first = std::min(entry->second.first, count);
      entry->second.second = std::max(entry->second.second, count);
    }
  }
  std::string chosen;
  std::tuple<bool, std::uint64_t> best{false, 0};
  for (const auto& [op, least_most] : extent) {
    const std::tuple<bool, std::uint64_t> rating{least_most.first != least_most.second,
                                                 least_most.second};
    if (rating > best) {
      best = rating;
      chosen = op;
    }
  }
  return chosen;
}

std::string_view error_signature(std::int32_t error) {
  if (error == unhandled_cuda_error) return "nccl.ras.cuda_error";
  if (error == remote_error) return "nccl.ras.remote_error";
  return error == 0 || error == in_progress ? std::string_view{} : "nccl.ras.error";
}

class Teller {
 public:
  Teller(const RasReport& report, const Origin& origin, Counters& counters)
      : report_(report),
        origin_(origin),
        counters_(counters),
        attempt_(origin.attempt.value_or(AttemptId{"unknown", 0})),
        world_(whole_job(report)) {
    if (world_ == nullptr) return;
    for (const auto& [number, rank] : world_->ranks) {
      if (is_told(rank)) places_.emplace(member_of(rank), number);
    }
  }

  std::vector<Event> tell() {
    for (const RasCommunicator& communicator : report_.communicators) {
      if (!communicator.name.empty()) tell(communicator);
    }
    for (const RasRank& rank : report_.lost) tell_trouble(rank, job_rank(rank), "");
    return std::move(events_);
  }

 private:
  void tell(const RasCommunicator& communicator) {
    tell_group(communicator);
    const std::string op = telling_op(communicator);
    for (const auto& [number, rank] : communicator.ranks) {
      const std::int32_t job_rank = rank_in_job(communicator, number, rank);
      tell_trouble(rank, job_rank, communicator.name);
      if (!rank.answered) continue;
      if (job_rank < 0) {
        counters_.add("ingest_ras_unplaced_ranks_total");
        continue;
      }
      tell_trace(rank, job_rank);
      tell_operation(communicator, rank, job_rank, op);
    }
  }

  [[nodiscard]] std::int32_t rank_in_job(const RasCommunicator& communicator, std::int32_t number,
                                         const RasRank& rank) const {
    return &communicator == world_ ? number : job_rank(rank);
  }

  /// -1 if it cannot be told.
  [[nodiscard]] std::int32_t job_rank(const RasRank& rank) const {
    const auto place = places_.find(member_of(rank));
    return place == places_.end() || !is_told(rank) ? -1 : place->second;
  }

  void tell_group(const RasCommunicator& communicator) {
    std::vector<std::int32_t> ranks;
    if (&communicator == world_) {
      for (std::int32_t rank = 0; rank < communicator.size; ++rank) ranks.push_back(rank);
    } else {
      for (const auto& [number, rank] : communicator.ranks) {
        const std::int32_t job_rank = rank_in_job(communicator, number, rank);
        if (job_rank >= 0) ranks.push_back(job_rank);
      }
      std::sort(ranks.begin(), ranks.end());
      ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    }
    if (ranks.empty()) return;
    RasRank place;
    place.offset = report_.offset;
    for (std::string& range : rank_ranges(ranks, field_bytes_max)) {
      Event event = make(EventKind::group_seen, place, ranks.front());
      event.fields = {{"group", communicator.name}, {"ranks", std::move(range)}};
      event.raw.text = "communicator " + communicator.name + ": ranks " + event.fields["ranks"];
      give(std::move(event));
    }
  }

  void tell_trace(const RasRank& rank, std::int32_t job_rank) {
    if (!traced_.insert(job_rank).second) return;
    Event event = make(EventKind::trace_read, rank, job_rank);
    event.fields = {{"format", "nccl_ras"},
                    {"version", report_.version},
                    {"world", std::to_string(world_->size)},
                    {"pid", std::to_string(rank.pid)}};
    give(std::move(event));
  }

  void tell_operation(const RasCommunicator& communicator, const RasRank& rank,
                      std::int32_t job_rank, const std::string& op) {
    const std::string count = std::to_string(total(rank));
    if (rank.launched.empty() || count == "0") return;
    Event event = make(EventKind::operation_completed, rank, job_rank);
    event.fields = {{"group", communicator.name},
                    {"lane", "collective"},
                    {"op", op},
                    {"seq", count},
                    {"last", count},
                    {"counted", "launched"}};
    give(std::move(event));
  }

  void tell_trouble(const RasRank& rank, std::int32_t job_rank, const std::string& group) {
    if (rank.dead) tell_signature("nccl.ras.dead", rank, job_rank, group);
    if (rank.unresponsive && !rank.dead)
      tell_signature("nccl.ras.unresponsive", rank, job_rank, group);
    if (const auto signature = error_signature(rank.error); !signature.empty())
      tell_signature(signature, rank, job_rank, group);
    if (rank.aborted) tell_signature("nccl.ras.abort", rank, job_rank, group);
  }

  /// Once for each process, whatever communicators it is in.
  void tell_signature(std::string_view signature, const RasRank& rank, std::int32_t job_rank,
                      const std::string& group) {
    if (!troubles_.emplace(signature, job_rank, member_of(rank)).second) return;
    Event event = make(EventKind::log_signature, rank, job_rank);
    event.signature = signature;
    const auto add = [&](const char* name, std::int64_t value) {
      event.fields[name] = std::to_string(value);
    };
    if (rank.pid != 0) add("pid", rank.pid);
    if (rank.nvml_dev >= 0) add("nvml_dev", rank.nvml_dev);
    if (rank.cuda_dev >= 0) add("cuda_dev", rank.cuda_dev);
    if (rank.error != 0) add("nccl_result", rank.error);
    if (job_rank >= 0) add("rank", job_rank);
    if (!group.empty()) event.fields["group"] = group;
    if (!rank.host.empty()) event.fields["host"] = printable(rank.host, 253);
    give(std::move(event));
  }

  [[nodiscard]] Event make(EventKind kind, const RasRank& rank, std::int32_t job_rank) const {
    const std::string node = valid_node_name(rank.host) ? rank.host : std::string();
    Event event;
    event.source = EventSource::collective_trace;
    event.kind = kind;
    event.reporter = origin_.node;
    event.subject = job_rank >= 0  ? Subject::of_rank(attempt_, job_rank, node)
                    : node.empty() ? Subject::of_attempt(attempt_)
                                   : Subject::of_node(node);
    event.attempt = origin_.attempt;
    event.observed_at = known(report_.at) ? report_.at : origin_.last_written;
    event.clock = known(event.observed_at) ? ClockDomain::node_wall : ClockDomain::none;
    event.raw = {origin_.path, rank.offset, origin_.boot_id,
                 printable(rank.text, raw_text_bytes_max - 3)};
    return event;
  }

  void give(Event event) {
    event.id = make_event_id(event);
    events_.push_back(std::move(event));
  }

  const RasReport& report_;
  const Origin& origin_;
  Counters& counters_;
  AttemptId attempt_;
  const RasCommunicator* world_;
  std::map<Member, std::int32_t> places_;
  std::set<std::int32_t> traced_;
  std::set<std::tuple<std::string, std::int32_t, Member>> troubles_;
  std::vector<Event> events_;
};

}  // namespace

std::vector<Event> ras_events(const RasReport& report, const Origin& origin, Counters& counters) {
  return Teller(report, origin, counters).tell();
}

}  // namespace faultline
