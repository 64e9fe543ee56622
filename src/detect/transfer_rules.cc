// Rules about transfers. One that failed is an edge between two ends; edges are voted on.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/contains.h"
#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/failure_case.h"
#include "model/names.h"

namespace faultline {
namespace {

/// C++ that throws where nobody catches, and glibc's word before it aborts the process.
constexpr std::string_view cpp_terminate_signature = "cpp.terminate";
constexpr std::string_view abort_signature = "glibc.abort";

struct Edge {
  const JobLine* line = nullptr;
  std::string reporter;  // node, host or rank that saw the transfer fail
  std::string device;    // its adapter, or the GPU it belongs to
  std::string peer;
};

std::string without_port(std::string_view peer) {
  return std::string(peer.substr(0, peer.find('<')));
}

/// A peer is told by an address. Whose it is, is known where its owner lost a transfer as well and
/// gives its adapter's own.
void name_peers(std::vector<Edge>& edges) {
  std::map<std::string_view, std::string> owners;
  for (const Edge& edge : edges)
    owners.emplace(edge.line->fact->event.field("local_gid"), edge.reporter);
  owners.erase("");
  std::map<std::string, std::string> names;
  for (const Edge& edge : edges) {
    const auto owner = owners.find(edge.line->fact->event.field("remote_gid"));
    if (owner != owners.end() && !owner->second.empty()) names.emplace(edge.peer, owner->second);
  }
  for (Edge& edge : edges) {
    if (const auto name = names.find(edge.peer); name != names.end()) edge.peer = name->second;
  }
}

std::vector<Edge> failed_transfers(const FailureCase& failure) {
  std::vector<Edge> edges;
  for (const JobLine& line : failure.lines) {
    if (line.cause->id != cause_id::ib_completion || !is_root(line)) continue;
    Edge edge{&line, line.node, {}, without_port(line.fact->event.field("peer"))};
    if (edge.reporter.empty()) edge.reporter = line.fact->event.field("host");
    if (edge.reporter.empty() && line.rank >= 0)
      edge.reporter = "rank " + std::to_string(line.rank);
    edge.device = line.fact->event.field("dev");
    const std::string_view gpu = line.fact->event.field("cuda_dev");
    if (edge.device.empty() && !gpu.empty()) edge.device = "gpu" + std::string(gpu);
    edges.push_back(std::move(edge));
  }
  name_peers(edges);
  return edges;
}

std::set<std::string> distinct(const std::vector<Edge>& edges, std::string Edge::*end) {
  std::set<std::string> values;
  for (const Edge& edge : edges) values.insert(edge.*end);
  return values;
}

/// Who is at one end of all edges but at most one in ten? "" if nobody.
std::string common_end(const std::vector<Edge>& edges, std::string Edge::*end) {
  std::map<std::string, std::size_t> count;
  for (const Edge& edge : edges) ++count[edge.*end];
  for (const auto& [name, times] : count) {
    if (!name.empty() && times * 10 >= edges.size() * 9) return name;
  }
  return {};
}

/// Who is at either end of every edge? "" if nobody, or the two of one pair.
std::string shared_end(const std::vector<Edge>& edges) {
  std::set<std::string> shared = {edges.front().reporter, edges.front().peer};
  for (const Edge& edge : edges) {
    std::erase_if(shared, [&](const std::string& end) {
      return end.empty() || (end != edge.reporter && end != edge.peer);
    });
  }
  return shared.size() == 1 ? *shared.begin() : std::string();
}

/// One edge a pair: a flood of completions between the same two ends is one vote.
std::vector<Edge> one_per_pair(const std::vector<Edge>& edges) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<Edge> pairs;
  for (const Edge& edge : edges) {
    if (seen.emplace(edge.reporter, edge.peer).second) pairs.push_back(edge);
  }
  return pairs;
}

/// The adapter if the line names it, or else the end and the peer that it lost.
Subject link_at(const Edge& edge, bool many_peers, const FailureCase& failure) {
  const Subject& said = edge.line->fact->event.subject;
  if (said.kind == SubjectKind::link && !said.part.empty() && !said.node.empty()) return said;
  const bool named = !edge.reporter.empty() && edge.reporter.find(' ') == std::string::npos;
  if (!named) return place_of(*edge.line, failure);
  if (many_peers && edge.device.empty()) return Subject::of_node(edge.reporter);
  if (many_peers) return Subject::of_link(edge.reporter, edge.device);
  return Subject::of_link(edge.reporter,
                          (edge.device.empty() ? "" : edge.device + "-") + edge.peer);
}

/// Two hosts that each lost one peer, while nobody else lost any, are the two ends of one link: a
/// peer is told by its address, so its name cannot be compared.
bool two_ends_of_one_link(const std::vector<Edge>& edges, const FailureCase& failure) {
  if (edges.size() != 2 || edges[0].reporter == edges[1].reporter ||
      edges[0].peer == edges[1].peer || edges[0].reporter.empty() || edges[1].reporter.empty())
    return false;
  const auto may_be = [&](const std::string& peer, const std::string& other) {
    const std::string* node = failure.attempt.node_called(peer);
    return node == nullptr || *node == other;
  };
  return may_be(edges[0].peer, edges[1].reporter) && may_be(edges[1].peer, edges[0].reporter);
}

/// A process that ended by a fault of its own, as its launcher, its C library or its interpreter
/// tells it; an exception of the program is one as well.
bool tells_of_crash(const JobLine& line) {
  return line.cause->id == cause_id::crash_signal || line.cause->id == cause_id::nccl_crash;
}
bool tells_of_abort(const JobLine& line) {
  static constexpr std::array aborts = {cpp_terminate_signature, abort_signature};
  return contains(aborts, std::string_view(line.signature->id));
}
bool tells_of_death(const JobLine& line) {
  return tells_of_crash(line) || tells_of_abort(line) ||
         (is_own_error(line) && blames_no_node(*line.cause));
}

bool lost_a_transfer(std::int32_t rank, const std::string& node, const std::vector<Edge>& edges) {
  return std::any_of(edges.begin(), edges.end(), [&](const Edge& edge) {
    return (rank >= 0 && edge.line->rank == rank) || (!node.empty() && edge.reporter == node);
  });
}

/// Peers retry for seconds before they give up, so what killed the other end is told before that. A
/// crash may be told by the launcher, somewhat later; whatever else ends a process may be what a
/// lost transfer ends in.
bool died_before(const JobLine& death, const std::vector<Edge>& edges) {
  const JobLine* first = edges.front().line;
  if (tells_of_crash(death)) return death.fact->at <= first->fact->at + order_uncertainty;
  return &death < first && known(death.fact->event.observed_at);
}

/// What ended the program at the one end that all others lost: its connections went with it.
struct Death {
  Subject subject;
  const Cause* cause = nullptr;
  const Event* told = nullptr;
  std::string place;
  Instant at;
};

std::optional<Death> death_of_end(const std::vector<Edge>& edges, const FailureCase& failure) {
  const std::string* lost = failure.attempt.node_called(common_end(edges, &Edge::peer));
  const auto is_end = [&](std::int32_t rank, const std::string& node) {
    const bool placed = rank >= 0 || !node.empty();
    return placed && !lost_a_transfer(rank, node, edges) &&
           (lost == nullptr || node.empty() || node == *lost);
  };
  for (const JobLine& line : failure.lines) {
    if (!tells_of_death(line) || !is_end(line.rank, line.node) || !died_before(line, edges))
      continue;
    const Cause* cause =
        tells_of_abort(line) ? failure.catalog.cause(cause_id::crash_signal) : line.cause;
    return Death{place_of(line, failure), cause, &line.fact->event, place_text(line),
                 line.fact->at};
  }
  for (const NodeFaults& node : failure.nodes) {
    for (const KernelFault& fault : node.faults) {
      const bool crash =
          fault.cause->id == cause_id::nccl_crash || fault.cause->id == cause_id::crash_signal;
      const Instant at = fault.since() + node.clock_offset;
      if (!crash || !is_end(-1, node.node) || at > edges.front().line->fact->at + order_uncertainty)
        continue;
      return Death{Subject::of_node(node.node), fault.cause, &fault.evidence.front()->event,
                   "a process on " + node.node, at};
    }
  }
  return std::nullopt;
}

void explain_by_death(Explanation& explanation, const Death& death, std::size_t ends) {
  explanation.cause = death.cause;
  explanation.subject = death.subject;
  explanation.node.clear();
  explanation.since = death.at;
  explanation.confidence = confidence::even;
  explanation.evidence.insert(explanation.evidence.begin(), death.told);
  explanation.text = death.place + " ended by itself (" + death.cause->summary + "), and " +
                     (ends == 1 ? std::string("another end") : std::to_string(ends) + " others") +
                     " lost their transfers then: a program that is gone answers no more. The link "
                     "is not suspected.";
}

/// The node that has this name or address, if the attempt has one of it.
void blame_end(Explanation& explanation, const std::string& end, const FailureCase& failure) {
  const std::string* node = failure.attempt.node_called(end);
  explanation.node = node == nullptr ? "" : *node;
  explanation.subject =
      node == nullptr ? Subject::of_attempt(failure.attempt.id) : Subject::of_node(*node);
}

}  // namespace

std::optional<Explanation> rule_transfer_failed(const FailureCase& failure) {
  const std::vector<Edge> all = failed_transfers(failure);
  if (all.empty()) return std::nullopt;
  const std::vector<Edge> edges = one_per_pair(all);
  const std::string peer = common_end(edges, &Edge::peer),
                    reporter = common_end(edges, &Edge::reporter);
  const bool many_reporters = distinct(edges, &Edge::reporter).size() > 1,
             many_peers = distinct(edges, &Edge::peer).size() > 1;
  Explanation explanation = explanation_from(*all.front().line, cause_id::ib_completion, failure);
  explanation.confidence = confidence::fair;
  if (many_reporters && !peer.empty()) {
    blame_end(explanation, peer, failure);
    explanation.text = std::to_string(edges.size()) + " ends lost their transfers to " + peer +
                       ": that end, or its link, has gone.";
  } else if (!many_reporters || (many_peers && !reporter.empty())) {
    explanation.subject = link_at(all.front(), many_peers, failure);
    explanation.node =
        concerns_node(explanation.subject) ? explanation.subject.node : explanation.node;
    explanation.text = "Transfers between " +
                       (reporter.empty() ? place_text(*all.front().line) : reporter) + " and " +
                       (many_peers ? "several peers" : (peer.empty() ? "its peer" : peer)) +
                       " failed after all retries: the adapter, cable or port between them.";
  } else if (two_ends_of_one_link(edges, failure)) {
    Edge ends = edges.front();
    ends.peer = edges.back().reporter;
    explanation.subject = link_at(ends, false, failure);
    explanation.node = ends.reporter;
    explanation.rivals = {edges.back().reporter};
    explanation.text = "Transfers between " + ends.reporter + " and " + ends.peer +
                       " failed after all retries, and no others: the link between them, at "
                       "either end.";
  } else if (const std::string shared = shared_end(edges); !shared.empty()) {
    blame_end(explanation, shared, failure);
    explanation.text = std::to_string(edges.size()) + " pairs lost their transfers, and " + shared +
                       " is one end of each: that end, or its link, has gone.";
  } else {
    explanation.cause = failure.catalog.cause(cause_id::fabric);
    explanation.subject = Subject::of_cluster();
    explanation.node.clear();
    explanation.text =
        "Transfers failed between many pairs without a common end: the fabric rather than a node.";
  }
  for (const JobLine& line : failure.lines) {
    const bool edge = line.cause->id == cause_id::ib_completion && is_root(line);
    (edge ? explanation.evidence : explanation.consequences).push_back(&line.fact->event);
  }
  if (const auto death = death_of_end(edges, failure)) {
    std::erase(explanation.consequences, death->told);
    explain_by_death(explanation, *death, distinct(edges, &Edge::reporter).size());
    return explanation;
  }
  explanation.missing = {"port state and error counters at both ends",
                         kernel_log_of(explanation.node, failure)};
  return explanation;
}

std::optional<Explanation> peer_named_by_all(const FailureCase& failure) {
  std::vector<Edge> edges;
  for (const JobLine& line : failure.lines) {
    const std::string_view peer = line.fact->event.field("peer");
    if (line.cause->id != cause_id::peer_lost || peer.empty()) continue;
    const std::string rank = line.rank < 0 ? "" : "rank " + std::to_string(line.rank);
    edges.push_back({&line, line.node.empty() ? rank : line.node, {}, without_port(peer)});
  }
  const std::string peer = common_end(edges, &Edge::peer);
  const std::string* known = failure.attempt.node_called(peer);
  const std::string node = known == nullptr ? peer : *known;
  const std::set<std::string> reporters = distinct(edges, &Edge::reporter);
  if (reporters.size() < 2 || reporters.contains(node) || !valid_node_name(node))
    return std::nullopt;
  Explanation explanation =
      explanation_from(*edges.front().line, cause_id::insufficient_evidence, failure);
  explanation.subject = Subject::of_node(node);
  explanation.node = node;
  explanation.unknown = true;
  explanation.confidence = confidence::weak;
  for (const Edge& edge : edges) explanation.evidence.push_back(&edge.line->fact->event);
  explanation.text = std::to_string(reporters.size()) + " others lost their connection to " + node +
                     ", so a process there went first; why, nothing here says.";
  explanation.missing = {"the output of the ranks on " + node, kernel_log_of(node, failure)};
  return explanation;
}

}  // namespace faultline
