// Which agent speaks for a node. Who is heard keeps the name for a while after its last word: an
// agent whose stream broke, because we were too busy to answer it, must find its name free.
#include <algorithm>
#include <utility>

#include "adapters/grpc/server_loop.h"
#include "base/text.h"

namespace faultline::grpc_server {
namespace {

constexpr std::size_t rivals_said_max = 16;  // of a node

/// Two of one boot and one state folder are one agent, whatever the host is called now: an agent
/// locks its folder.
bool same_agent(const AgentIdentity& a, const AgentIdentity& b) {
  return a.boot_id == b.boot_id && a.state == b.state;
}

std::string name_of(const AgentIdentity& agent) {
  constexpr std::size_t bytes_max = 64;
  return "host " + printable(agent.host, bytes_max) + ", boot " +
         printable(agent.boot_id, bytes_max) + ", state of " + printable(agent.state, bytes_max);
}

/// How long `speaker` must not have been heard before `who` gets the name of its node.
Duration silence_needed(const AgentIdentity& speaker, bool open, const AgentIdentity& who,
                        const GrpcServerOptions& options) {
  const bool rebooted = who.host == speaker.host && who.boot_id != speaker.boot_id;
  if (!rebooted) return options.name_kept;
  return open ? options.agent_silence_max : Duration{0};
}

}  // namespace

/// Its open streams.
std::vector<AgentStream*> ServerLoop::streams_of(const Speaker& speaker) {
  std::vector<AgentStream*> streams;
  for (const std::uint64_t id : speaker.streams) {  // one that is finished leaves the list
    AgentStream& stream = *streams_.at(id);
    if (same_agent(stream.identity(), speaker.who)) streams.push_back(&stream);
  }
  return streams;
}

std::optional<grpc::Status> ServerLoop::refuse_rival(const std::string& node,
                                                     const AgentIdentity& who) {
  const auto it = speakers_.find(node);
  if (it == speakers_.end() || same_agent(it->second.who, who)) return std::nullopt;
  Speaker& speaker = it->second;
  const bool untold = who.state.empty() || speaker.who.state.empty();  // of an older program
  if (untold) return std::nullopt;
  const auto streams = streams_of(speaker);
  Duration heard_at = speaker.heard_at;
  for (const AgentStream* stream : streams) heard_at = std::max(heard_at, stream->heard_at());
  const Duration needed = silence_needed(speaker.who, !streams.empty(), who, options);
  if (clock.monotonic() - heard_at < needed) return refuse(node, speaker, who);
  for (AgentStream* stream : streams)
    stream->finish(refusal(grpc::StatusCode::ABORTED, "another agent speaks for '" + node + "'"));
  return std::nullopt;
}

/// Each pair is said once: it is tried again every few seconds.
grpc::Status ServerLoop::refuse(const std::string& node, Speaker& speaker,
                                const AgentIdentity& who) {
  counters.add("grpc_rivals_refused_total");
  const std::string text = "two agents speak for '" + node + "': " + name_of(speaker.who) +
                           " is heard, " + name_of(who) + " is refused until " +
                           to_text(options.name_kept) +
                           " after the other's last word; stop one of the two, or correct its "
                           "--node";
  auto& said = speaker.rivals_said;
  if (std::find(said.begin(), said.end(), text) == said.end() && warn(text)) {
    said.push_back(text);
    if (said.size() > rivals_said_max) said.pop_front();
  }
  return refusal(
      grpc::StatusCode::ALREADY_EXISTS,
      "another agent speaks for '" + node + "': " + name_of(speaker.who) +
          "; stop one of the two, or give this one the --node of its own node (a name is "
          "free " +
          to_text(options.name_kept) + " after its agent's last word)");
}

void ServerLoop::greeted(const std::string& node, std::uint64_t id) {
  counters.add("grpc_streams_opened_total");
  Speaker& speaker = speakers_[node];
  const AgentIdentity& who = streams_.at(id)->identity();
  if (!who.state.empty()) speaker.who = who;
  auto& ids = speaker.streams;
  ids.push_back(id);
  if (ids.size() <= streams_per_node_max) return;
  counters.add("grpc_streams_replaced_total");
  streams_.at(ids.front())
      ->finish(refusal(grpc::StatusCode::ABORTED, "'" + node + "' has opened newer streams"));
}

void ServerLoop::forget(const std::string& node, std::uint64_t id) {
  const auto it = speakers_.find(node);
  if (it == speakers_.end()) return;
  Speaker& speaker = it->second;
  const AgentStream& stream = *streams_.at(id);
  if (same_agent(stream.identity(), speaker.who))
    speaker.heard_at = std::max(speaker.heard_at, stream.heard_at());
  std::erase(speaker.streams, id);
  // Without certificates anybody on this machine can make up names.
  if (speaker.streams.empty() && speakers_.size() > options.streams_max) speakers_.erase(it);
}

void ServerLoop::drop_speakers() {
  std::erase_if(speakers_, [this](const auto& entry) {
    const Speaker& speaker = entry.second;
    return speaker.streams.empty() && last_tick_ - speaker.heard_at >= options.name_kept;
  });
}

}  // namespace faultline::grpc_server
