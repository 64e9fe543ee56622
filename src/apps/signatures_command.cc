#include "apps/signatures_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "adapters/process/process.h"
#include "apps/catalog_path.h"
#include "apps/output.h"
#include "base/text.h"
#include "ingest/signature_database.h"

namespace faultline {
namespace {

/// The work is a second of processor time; on a node that is booting, or where many agents start at
/// once, it takes a hundred times as long. Who is slow is not stuck: to give up on him early means
/// the same work once more, by the agent itself. Lines that come meanwhile are read afterwards.
constexpr Duration compile_deadline = std::chrono::minutes{3};
constexpr std::size_t child_output_bytes_max = 4096;

constexpr std::array kinds = {EventSource::kernel_log, EventSource::job_log};

bool all_cached(const Catalog& catalog, const std::filesystem::path& cache) {
  return std::all_of(kinds.begin(), kinds.end(), [&](EventSource kind) {
    return SignatureDatabase::cached(catalog, layers_of(kind), cache);
  });
}

Status compile_all(const Catalog& catalog, const std::filesystem::path& cache, Counters& counters) {
  for (const EventSource kind : kinds) {
    const auto opened = SignatureDatabase::open(catalog, layers_of(kind), cache, counters);
    if (!opened.ok()) return opened.error();
  }
  return ok_status();
}

Status run_child(const std::vector<std::string>& child, const std::atomic<bool>& stop) {
  ProcessOptions limits;
  limits.deadline = compile_deadline;
  limits.output_bytes_max = child_output_bytes_max;
  limits.stop = &stop;
  const auto ran = run_process(child, limits);
  if (!ran.ok()) return ran.error();
  if (ran->timed_out)
    return Error{ErrorCode::deadline_exceeded, "not done in " + to_text(compile_deadline)};
  if (ran->exit_code == 0) return ok_status();
  return Error{ErrorCode::unavailable,
               fmt::format("exit code {}: {}", ran->exit_code, printable(ran->err, 400))};
}

}  // namespace

void add_signatures_command(CLI::App& app, SignaturesOptions& options) {
  CLI::App* compile = app.add_subcommand("compile-signatures", "");
  compile->group("");  // hidden
  compile->add_option("--catalog", options.catalog)->required();
  compile->add_option("--cache", options.cache)->required();
}

int signatures_main(const SignaturesOptions& options) {
  const auto catalog = load_catalog(options.catalog);
  if (!catalog.ok()) return fail(catalog.error());
  Counters counters;
  if (const Status done = compile_all(*catalog, options.cache, counters); !done.ok())
    return fail(done.error());
  if (all_cached(*catalog, options.cache)) return exit_ok;
  return fail(Error{ErrorCode::unavailable, options.cache + ": cannot be written"});
}

std::vector<std::string> signatures_command(const std::filesystem::path& catalog_folder,
                                            const std::filesystem::path& cache) {
  std::error_code ignored;  // a relative path then, which the child does not find
  return {"/proc/self/exe", "compile-signatures",
          "--catalog",      std::filesystem::absolute(catalog_folder, ignored).string(),
          "--cache",        std::filesystem::absolute(cache, ignored).string()};
}

Status prepare_signatures(const Catalog& catalog, const std::filesystem::path& cache,
                          const std::vector<std::string>& child, Counters& counters,
                          const std::atomic<bool>& stop) {
  if (all_cached(catalog, cache)) return ok_status();
  const Status ran = run_child(child, stop);
  if (stop) return ok_status();
  if (!ran.ok()) {
    counters.add("signature_child_failures_total");
    spdlog::warn("signatures are compiled by the agent itself, at some megabytes: {}",
                 ran.error().message);
  }
  return compile_all(catalog, cache, counters);
}

}  // namespace faultline
