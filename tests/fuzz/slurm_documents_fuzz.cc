// What Slurm's clients print, in JSON and in text: any bytes are values or an error, names are
// names, and what goes back into a command line holds nothing but a job's number. Input: a first
// byte '0' to '6' for the kind of document, the rest the document.

#include "adapters/slurm/slurm_documents.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/slurm/slurm_accounting.h"
#include "adapters/slurm/slurm_command.h"
#include "base/check.h"
#include "ingest/slurm_words.h"
#include "model/names.h"

namespace {

using namespace faultline;

constexpr std::size_t free_text_bytes_max = 512;

void check_names(const std::vector<std::string>& names) {
  FAULTLINE_CHECK(names.size() <= slurm_hosts_max);
  for (const auto& name : names) FAULTLINE_CHECK(valid_node_name(name));
}

void check_text(std::string_view text) {
  FAULTLINE_CHECK(text.size() <= free_text_bytes_max + 3);  // and the "..." of what was cut
  for (const char c : text) FAULTLINE_CHECK(c != '\n' && c != '\0' && c != '\033');
}

void check_time(Instant time) { FAULTLINE_CHECK(time >= Instant{}); }

void check_job(const SlurmJob& job) {
  FAULTLINE_CHECK(!job.id.empty() && !job.number.empty());
  if (valid_job_id(job.id)) {
    const auto target = update_target(job);
    FAULTLINE_CHECK(target.find_first_not_of("0123456789_+[],-:") == std::string::npos);
    FAULTLINE_CHECK(target[0] != '-');
  }
  for (const auto& text : {job.name, job.user, job.reason, job.description, job.admin_comment})
    check_text(text);
  check_names(job.nodes);
  check_names(job.excluded);
  check_names(job.required);
  check_time(job.start);
  check_time(job.end);
  FAULTLINE_CHECK(!job.held || job.state == AttemptState::pending);
}

void check_node(const SlurmNode& slurm_node) {
  const auto& node = slurm_node.node;
  FAULTLINE_CHECK(valid_node_name(node.name));
  check_text(node.drain_reason);
  check_text(node.drain_owner);
  check_time(node.boot_time);
  FAULTLINE_CHECK(!node.available || (!node.drained && !node.down && !node.maintenance));
  FAULTLINE_CHECK(!node.idle || node.available);
}

template <class Value>
void check_all(const Result<std::vector<Value>>& values, void (*check)(const Value&)) {
  if (values) {
    for (const auto& value : *values) check(value);
  } else {
    check_text(values.error().message);
  }
}

void jobs_json(std::string_view text) { check_all(parse_jobs_json(text), check_job); }
void nodes_json(std::string_view text) { check_all(parse_nodes_json(text), check_node); }
void nodes_text(std::string_view text) { check_all(parse_nodes_text(text), check_node); }

/// The two answers of squeue, divided by a line of dashes.
void jobs_text(std::string_view text) {
  constexpr std::string_view divider = "----\n";
  const auto cut = text.find(divider);
  const bool both = cut != std::string_view::npos;
  check_all(parse_jobs_text(text.substr(0, cut),
                            both ? text.substr(cut + divider.size()) : std::string_view{}),
            check_job);
}

void pool_text(std::string_view text) {
  for (const auto& [node, leaf] : parse_topology(text)) {
    FAULTLINE_CHECK(valid_node_name(node));
    check_text(leaf);
  }
  for (const auto& reservation : parse_reservations(text)) check_names(reservation.nodes);
}

void accounting(std::string_view text) {
  for (const auto& record : parse_accounting(text)) {
    FAULTLINE_CHECK(valid_job_id(record.job) && ended(record.state));
    check_time(record.start);
    check_time(record.end);
  }
}

void errors(std::string_view text) {
  FAULTLINE_CHECK(!to_text(classify_slurm_error(text)).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array kinds = {jobs_json, nodes_json, jobs_text, nodes_text,
                                pool_text, accounting, errors};
  if (size == 0) return 0;
  const std::string_view document(reinterpret_cast<const char*>(data) + 1, size - 1);
  kinds[static_cast<std::size_t>(data[0] - '0') % kinds.size()](document);
  return 0;
}
