#include "apps/run_own_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/catalog_path.h"
#include "base/small_file.h"
#include "base/text.h"
#include "ingest/log_decoder.h"

namespace faultline {
namespace {

constexpr std::uint64_t tail_bytes = 256 * 1024;

/// The first line that can be a cause; else nullptr. Consequences and noise are not told: they
/// mislead.
const Event* first_root(const std::vector<Event>& events, const Catalog& catalog) {
  for (const Event& event : events) {
    const Signature* signature =
        event.kind == EventKind::log_signature ? catalog.signature(event.signature) : nullptr;
    if (signature != nullptr && signature->role == Role::root) return &event;
  }
  return nullptr;
}

std::vector<Event> decode_tail(const std::filesystem::path& log, std::uint64_t start,
                               const RunIdentity& me, const Catalog& catalog, Instant now) {
  Counters counters;
  // No cache: this happens once in a job's life, and there may be no place to keep it.
  const auto patterns =
      SignatureDatabase::open(catalog, layers_of(EventSource::job_log), {}, counters);
  std::error_code problem;
  const std::uint64_t size = std::filesystem::file_size(log, problem);
  if (!patterns.ok() || problem) return {};
  const std::uint64_t from = std::max(start, size > tail_bytes ? size - tail_bytes : 0);
  const auto bytes = read_file_part(log, from, tail_bytes);
  if (!bytes.ok()) return {};
  Origin origin;
  origin.source = EventSource::job_log;
  origin.node = me.node;
  origin.path = log.string();
  origin.attempt = me.attempt;
  origin.rank = me.rank;
  LogDecoder decoder(patterns.value(), origin, counters);
  std::vector<Event> events = decoder.feed(bytes.value(), from, now);
  for (Event& event : decoder.finish(now)) events.push_back(std::move(event));
  return events;
}

}  // namespace

std::vector<std::string> explain_own_log(const std::filesystem::path& log, std::uint64_t start,
                                         const RunIdentity& me, const std::string& catalog_folder,
                                         Instant now) {
  if (log.empty())
    return {"no agent on this node and no log of this rank: nothing is known about why it failed"};
  const auto catalog = load_catalog(catalog_folder);
  if (!catalog.ok()) return {"no agent on this node, and no catalog: " + catalog.error().message};
  const std::vector<Event> events = decode_tail(log, start, me, catalog.value(), now);
  const Event* root = first_root(events, catalog.value());
  if (root == nullptr) {
    return {"no agent on this node; nothing in this rank's own log says why it failed: " +
            log.string()};
  }
  const Signature* signature = catalog->signature(root->signature);
  const Cause* cause = catalog->cause(signature->cause);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("from this rank's log alone (no agent on {}): {} [{}]", me.node,
                              cause == nullptr ? signature->cause : cause->summary,
                              signature->cause));
  lines.push_back("  " + printable(root->raw.text, 400));
  if (cause != nullptr && !cause->next_step.empty()) lines.push_back("  next: " + cause->next_step);
  return lines;
}

}  // namespace faultline
