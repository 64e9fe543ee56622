#include "adapters/slurm/slurm_accounting.h"

#include <algorithm>
#include <set>

#include "adapters/slurm/slurm_documents.h"
#include "adapters/slurm/slurm_queries.h"
#include "adapters/slurm/slurm_states.h"
#include "base/text.h"
#include "ingest/slurm_words.h"

namespace faultline {
namespace {

constexpr Duration start_tolerance = std::chrono::seconds{1};

const SlurmRecord* record_of(const Attempt& attempt, const std::vector<SlurmRecord>& records) {
  for (const auto& record : records) {
    if (record.job != attempt.id.job) continue;
    const auto apart = record.start - attempt.started_at;
    if (apart <= start_tolerance && -apart <= start_tolerance) return &record;
  }
  return nullptr;  // a requeue has the same number: without its start it could be any of them
}

std::vector<std::string> question(const std::vector<Attempt>& attempts) {
  std::set<std::string> jobs;
  for (const auto& attempt : attempts) {
    if (slurm_job_id(attempt.id.job) && jobs.size() < accounting_attempts_max)
      jobs.insert(base_job(attempt.id.job));
  }
  if (jobs.empty()) return {};
  // Without a start time sacct shows the last day alone.
  const auto earliest =
      std::min_element(attempts.begin(), attempts.end(),
                       [](const auto& a, const auto& b) { return a.started_at < b.started_at; });
  const auto seconds = std::chrono::floor<std::chrono::seconds>(earliest->started_at);
  return {"sacct",
          "--noheader",
          "--parsable2",
          "--duplicates",
          "--allocations",
          "--starttime=uts" + std::to_string(seconds.time_since_epoch().count()),
          "--jobs=" + join(std::vector<std::string>(jobs.begin(), jobs.end()), ","),
          "--format=" + std::string(accounting_format)};
}

}  // namespace

std::vector<SlurmRecord> parse_accounting(std::string_view text) {
  std::vector<SlurmRecord> records;
  for (const auto line : split(text, '\n')) {
    const auto fields = split(line, '|');
    if (fields.size() != 5 || !slurm_job_id(fields[0])) continue;
    SlurmRecord record{std::string(fields[0]), slurm_record_state(fields[1]),
                       slurm_exit_code(fields[2]).value_or(0), slurm_epoch(fields[3]),
                       slurm_epoch(fields[4])};
    if (ended(record.state) && known(record.start) && known(record.end))
      records.push_back(std::move(record));
  }
  return records;
}

std::vector<Attempt> SlurmAccounting::ends_of(const std::vector<Attempt>& forgotten) {
  if (forgotten.empty() || clock_.monotonic() < quiet_until_) return {};
  const auto argv = question(forgotten);
  if (argv.empty()) return {};
  const auto text = command_.run(argv, accounting_deadline);
  if (!text) {
    counters_.add("slurm_accounting_errors_total");
    quiet_until_ = clock_.monotonic() + accounting_pause;
    return {};
  }
  const auto records = parse_accounting(*text);
  std::vector<Attempt> ends;
  for (Attempt attempt : forgotten) {
    const auto* record = record_of(attempt, records);
    if (record == nullptr) continue;
    attempt.state = record->state;
    attempt.ended_at = record->end;
    attempt.exit_code = record->exit_code;
    ends.push_back(std::move(attempt));
  }
  return ends;
}

}  // namespace faultline
