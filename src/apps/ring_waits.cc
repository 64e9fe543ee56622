#include "apps/ring_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "detect/operation_match.h"
#include "detect/stuck_operation.h"
#include "ingest/rank_ranges.h"
#include "ingest/ring_events.h"

namespace faultline {
namespace {

constexpr std::size_t ranks_text_bytes_max = 160;

struct JobWaits {
  AttemptId attempt;
  StuckKind kind = StuckKind::inside;
  std::vector<std::int32_t> ranks, unread;
  std::string operation;     // "all_reduce 107", "recv 3 from rank 5"
  std::string communicator;  // its name, or its number where it has none
  std::string differs;
  std::size_t waiting = 0;
  Duration waited{0};  // of whoever has waited longest in the operation
  std::string states;  // "rank 2 is stopped"
};

using JobViews = std::map<AttemptId, std::vector<const RingView*>>;

JobViews by_job(const std::vector<RingView>& views) {
  JobViews jobs;
  for (const RingView& view : views) {
    const RingIdentity& me = view.ring.identity;
    jobs[{me.job.empty() ? "unknown" : me.job, static_cast<std::uint32_t>(std::max(me.restart, 0))}]
        .push_back(&view);
  }
  return jobs;
}

std::string name_of_group(const OperationBoard& board, const Event& event) {
  const std::string group(event.field("group"));
  const ProcessGroup* known = board.group(group);
  return known == nullptr || known->desc.empty() ? group : known->desc;
}

/// Since when the first of those who wait has been in what they wait in.
Duration longest_wait(const std::vector<const RingView*>& views, const RankOperation& operation) {
  Duration longest{0};
  for (const RingView* view : views) {
    for (const RingCommunicator& communicator : view->ring.communicators) {
      if (fmt::format("{:#x}", communicator.id) != operation.event->field("group")) continue;
      for (const RingOperation& one : communicator.in_flight) {
        if (static_cast<std::int64_t>(one.sequence) + 1 != operation.seq) continue;
        if (!one.started.is_known || !view->until.is_known) continue;
        longest = std::max(longest, view->until.monotonic - one.started.monotonic);
      }
    }
  }
  return longest;
}

/// What became of the processes that are waited for, where it is not that they run.
std::string states_of(const std::vector<const RingView*>& views,
                      const std::vector<std::int32_t>& ranks) {
  std::vector<std::string> states;
  for (const RingView* view : views) {
    const std::int32_t rank = view->ring.identity.rank;
    if (view->life == WriterLife::running ||
        std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
      continue;
    const std::string& host = view->ring.identity.host;
    states.push_back(fmt::format("rank {} (pid {}{}) is {}", rank, view->ring.identity.pid,
                                 host.empty() ? "" : " on " + host,
                                 view->life == WriterLife::ended ? "gone" : to_text(view->life)));
  }
  return join(states, ", ");
}

std::vector<JobWaits> waits_of(const std::vector<RingView>& views) {
  std::vector<JobWaits> found;
  for (const auto& [attempt, of_job] : by_job(views)) {
    OperationBoard board;
    for (const RingView* view : of_job) {
      for (const Event& event : ring_events(view->ring, view->path, view->until)) board.add(event);
    }
    if (board.traces().size() < 2) continue;
    auto finding = find_stuck_operation(board);
    if (!finding || finding->kind == StuckKind::moving || finding->operation.event == nullptr)
      continue;
    const Event& event = *finding->operation.event;
    found.push_back({attempt, finding->kind, finding->ranks, finding->unread,
                     operation_name(finding->operation), name_of_group(board, event),
                     finding->differs, finding->waiting, longest_wait(of_job, finding->operation),
                     states_of(of_job, finding->ranks)});
  }
  return found;
}

std::string rank_text(const std::vector<std::int32_t>& ranks) {
  const auto parts = rank_ranges(ranks, ranks_text_bytes_max);
  return (ranks.size() == 1 ? "rank " : "ranks ") + (parts.empty() ? "?" : parts.front()) +
         (parts.size() > 1 ? " and more" : "");
}

/// One sentence; where it cannot be said, whose black box would tell.
std::string sentence(const JobWaits& waits) {
  const std::string where = waits.operation + " of " + waits.communicator;
  const std::string who = rank_text(waits.ranks);
  const std::string others = std::to_string(waits.waiting);
  switch (waits.kind) {
    case StuckKind::mismatch:
      return who + " met others in " + where + " with something else: " + waits.differs;
    case StuckKind::not_joined:
      return who + " never entered " + where + ", in which " + others +
             (waits.waiting == 1 ? " other waits" : " others wait");
    case StuckKind::no_trace:
      return "whoever is missing in " + where +
             " left no black box here: " + rank_text(waits.unread);
    case StuckKind::wrong_order:
      return who + " went past " + where + ", in which others wait, to something later";
    case StuckKind::wrong_peer:
      return who + " waits for a peer that has nothing to do with it; others wait in " + where;
    case StuckKind::deadlock:
      return who + " wait for each other, in " + where + " and what follows";
    case StuckKind::inside:
      return "all have entered " + where + ", and it does not end" +
             (waits.ranks.empty() ? "" : "; on its GPU it has not begun on " + who);
    case StuckKind::moving: break;
  }
  return {};
}

}  // namespace

std::string ring_waits_text(const std::vector<RingView>& views) {
  std::string text;
  for (const JobWaits& waits : waits_of(views)) {
    text += text.empty() ? "\nWHO IS WAITED FOR\n" : "";
    text += fmt::format("  job {}: {}; for {}\n", waits.attempt.job, sentence(waits),
                        to_text(waits.waited));
    if (!waits.states.empty()) text += "    " + waits.states + "\n";
  }
  return text;
}

nlohmann::json ring_waits_json(const std::vector<RingView>& views) {
  auto list = nlohmann::json::array();
  for (const JobWaits& waits : waits_of(views)) {
    list.push_back({{"job", waits.attempt.job},
                    {"restart", waits.attempt.restart},
                    {"kind", to_text(waits.kind)},
                    {"ranks", waits.ranks},
                    {"unread", waits.unread},
                    {"operation", waits.operation},
                    {"communicator", waits.communicator},
                    {"waiting", waits.waiting},
                    {"waited_s", std::chrono::duration<double>(waits.waited).count()},
                    {"differs", waits.differs.empty() ? nlohmann::json(nullptr)
                                                      : nlohmann::json(waits.differs)}});
  }
  return list;
}

}  // namespace faultline
