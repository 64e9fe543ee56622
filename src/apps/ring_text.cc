// A black box for a person: who, what is in flight and for how long, what was last, who waits for
// whom.
#include <fmt/format.h>

#include <algorithm>

#include "apps/output.h"
#include "apps/ring_command.h"

namespace faultline {
namespace {

constexpr std::size_t in_flight_shown_max = 20;
constexpr std::size_t peers_shown_max = 20;

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }
std::string number_or_dash(std::int64_t number) {
  return number < 0 ? "-" : std::to_string(number);
}

/// "0.85 ms" where whole milliseconds say too little.
std::string length(Duration duration) {
  const double ms = std::chrono::duration<double, std::milli>(duration).count();
  return ms < 100 ? fmt::format("{:.{}f} ms", ms, ms < 1 ? 3 : 1) : to_text(duration);
}

std::string ago(const RingView& view, const RingTime& since) {
  if (!since.is_known || !view.until.is_known) return "?";
  return to_text(std::max(Duration{0}, view.until.monotonic - since.monotonic));
}

std::string when(const RingTime& time) { return time.is_known ? to_text(time.wall) : "?"; }

std::string head(const RingView& view) {
  const RingIdentity& me = view.ring.identity;
  std::string text = view.path + "\n";
  const auto row = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<11}{}\n", name, value);
  };
  row("process", fmt::format("pid {} on {}, {}", me.pid, or_dash(me.host), to_text(view.life)));
  row("job",
      fmt::format("{}, rank {} of {}, local rank {}{}", or_dash(me.job), number_or_dash(me.rank),
                  number_or_dash(me.rank_count), number_or_dash(me.local_rank),
                  me.restart > 0 ? fmt::format(", restart {}", me.restart) : ""));
  row("gpu", fmt::format("{} {}", or_dash(me.gpu_address), me.gpu_uuid));
  row("library", or_dash(me.library));
  row("started", known(me.created) ? to_text(me.created) : "?");
  row("last sign",
      view.life == WriterLife::running || view.life == WriterLife::stopped
          ? fmt::format("{}, {} ago", when(view.ring.last_sign), ago(view, view.ring.last_sign))
          : when(view.ring.last_sign));
  if (view.ring.state != "active")
    row("recording",
        view.ring.state +
            (view.ring.disabled_reason == "none" ? "" : ": " + view.ring.disabled_reason));
  return text;
}

std::string name_of(const RingCommunicator& communicator) {
  return communicator.name.empty() ? fmt::format("{:#x}", communicator.id) : communicator.name;
}

std::string communicators_text(const RingView& view) {
  Table table({"COMMUNICATOR", "ID", "RANK", "NODES", "STARTED", "COMPLETED", "IN FLIGHT",
               "DROPPED", "STATE"});
  for (const auto& one : view.ring.communicators) {
    table.add({name_of(one), fmt::format("{:#x}", one.id),
               fmt::format("{} of {}", number_or_dash(one.rank), number_or_dash(one.rank_count)),
               number_or_dash(one.node_count), std::to_string(one.started),
               std::to_string(one.finished), std::to_string(one.in_flight.size()),
               std::to_string(one.dropped),
               std::string(one.is_open ? "open" : "closed") + (one.torn ? ", torn" : "")});
  }
  return view.ring.communicators.empty() ? "\nno communicators\n" : "\n" + table.text();
}

std::string progress(const RingOperation& operation) {
  std::string text(to_text(operation.phase));
  if (operation.phase == OperationPhase::over) text = operation.outcome;
  if (operation.channels != 0) {
    text += fmt::format(", {} of {} channels began, {} ended", operation.channels_started,
                        operation.channels, operation.channels_stopped);
  }
  return text + (operation.torn ? ", torn" : "");
}

/// "12.5 ms": from its start to its end.
std::string duration(const RingOperation& operation) {
  if (!operation.started.is_known || !operation.ended.is_known) return "?";
  return length(std::max(Duration{0}, operation.ended.monotonic - operation.started.monotonic));
}

void add_operation(Table& table, const RingCommunicator& communicator,
                   const RingOperation& operation, const std::string& for_so_long) {
  table.add({name_of(communicator), operation.kind, std::to_string(operation.sequence),
             number_or_dash(operation.peer), std::to_string(operation.count), operation.data_type,
             for_so_long, when(operation.started), progress(operation)});
}

Table operations_table(const char* how_long) {
  return Table({"COMMUNICATOR", "OPERATION", "SEQ", "PEER", "COUNT", "TYPE", how_long, "STARTED",
                "PROGRESS"});
}

std::string in_flight_text(const RingView& view, bool all) {
  struct Stuck {
    const RingCommunicator* communicator;
    const RingOperation* operation;
  };
  std::vector<Stuck> stuck;
  for (const auto& one : view.ring.communicators) {
    for (const auto& operation : one.in_flight) stuck.push_back({&one, &operation});
  }
  if (stuck.empty()) return "\nnothing in flight\n";
  std::ranges::stable_sort(stuck, {},
                           [](const Stuck& one) { return one.operation->started.monotonic; });
  Table table = operations_table("FOR");
  const std::size_t shown = all ? stuck.size() : std::min(stuck.size(), in_flight_shown_max);
  for (std::size_t i = 0; i < shown; ++i)
    add_operation(table, *stuck[i].communicator, *stuck[i].operation,
                  ago(view, stuck[i].operation->started));
  std::string text = fmt::format(
      "\nin flight{}\n", view.life == WriterLife::ended ? " when it was last heard of" : "");
  text += table.text();
  if (shown < stuck.size()) text += fmt::format("and {} more (--all)\n", stuck.size() - shown);
  return text;
}

std::string completed_text(const RingView& view, bool all) {
  Table table = operations_table("TOOK");
  for (const auto& one : view.ring.communicators) {
    const std::size_t shown =
        all ? one.completed.size() : std::min<std::size_t>(one.completed.size(), 1);
    for (std::size_t i = 0; i < shown; ++i)
      add_operation(table, one, one.completed[i], duration(one.completed[i]));
  }
  return table.size() == 0
             ? ""
             : fmt::format("\n{}\n", all ? "completed, newest first" : "last completed") +
                   table.text();
}

std::string waits_text(const RingView& view, bool all) {
  Table table({"COMMUNICATOR", "PEER", "WAITS FOR", "OPEN", "SINCE", "ENDED", "IN ALL"});
  std::size_t left_out = 0;
  for (const RingPeer& peer : view.ring.peers) {
    const auto owner =
        std::ranges::find(view.ring.communicators, peer.communicator, &RingCommunicator::place);
    const std::string name = owner == view.ring.communicators.end() ? "?" : name_of(*owner);
    for (std::uint32_t kind = 0; kind < ringfmt::wait_kinds; ++kind) {
      const RingWait& wait = peer.waits[kind];
      if (wait.open == 0 && wait.ended == 0) continue;
      if (!all && table.size() >= peers_shown_max) {
        ++left_out;
        continue;
      }
      table.add({name, std::to_string(peer.rank), ringfmt::wait_words[kind],
                 std::to_string(wait.open), wait.open == 0 ? "-" : ago(view, wait.open_since),
                 std::to_string(wait.ended), length(wait.total)});
    }
  }
  if (table.size() == 0) return "";
  return "\nwaits\n" + table.text() +
         (left_out == 0 ? "" : fmt::format("and {} more (--all)\n", left_out));
}

std::string counted(const char* title, const CounterValues& values) {
  if (values.empty()) return "";
  std::string text = fmt::format("\n{}:", title);
  for (const auto& [name, value] : values) text += fmt::format(" {} {}", value, name);
  return text + "\n";
}

}  // namespace

std::string ring_text(const RingView& view, bool all) {
  return head(view) + communicators_text(view) + in_flight_text(view, all) +
         completed_text(view, all) + waits_text(view, all) +
         counted("not recorded by the writer", view.ring.drops) +
         counted("what could not be made sense of", view.ring.problems);
}

}  // namespace faultline
