#include "apps/diagnose_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "adapters/files/input_finder.h"
#include "apps/catalog_path.h"
#include "apps/explain.h"
#include "apps/option_values.h"
#include "apps/output.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "diagnose/diagnose.h"
#include "diagnose/gather_all.h"
#include "diagnose/report.h"

namespace faultline {
namespace {

using nlohmann::json;

constexpr std::size_t threads_max = 16;
constexpr int exit_attributed = 1;
constexpr int exit_undecided = 3;
constexpr std::size_t report_columns_max = 120;

ReportStyle style_of_terminal() {
  ReportStyle style;
  if (isatty(STDOUT_FILENO) == 0) return style;
  style.colour = std::getenv("NO_COLOR") == nullptr;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 40)
    style.width = std::min<std::size_t>(size.ws_col, report_columns_max);
  return style;
}

json warning_json(const InputWarning& warning) {
  return {{"file", warning.file}, {"what", warning.what}, {"left_out", warning.left_out}};
}

void print_json(const std::vector<Diagnosis>& diagnoses,
                const std::vector<InputWarning>& warnings) {
  json list = json::array();
  for (const Diagnosis& diagnosis : diagnoses) {
    json object = report_json(diagnosis);
    object["warnings"] = json::array();
    for (const InputWarning& warning : warnings)
      object["warnings"].push_back(warning_json(warning));
    list.push_back(std::move(object));
  }
  print(list.size() == 1 ? list.front() : list);
}

int exit_code_of(const std::vector<Diagnosis>& diagnoses) {
  int code = exit_ok;
  for (const Diagnosis& diagnosis : diagnoses) {
    if (diagnosis.status == DiagnosisStatus::attributed) return exit_attributed;
    if (diagnosis.status == DiagnosisStatus::undecided) code = exit_undecided;
  }
  return code;
}

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

/// One line on standard error that redraws itself; on a terminal alone.
GatherProgress progress_bar() {
  if (isatty(STDERR_FILENO) == 0) return [](std::size_t, std::size_t, std::uint64_t) {};
  return [](std::size_t done, std::size_t files, std::uint64_t bytes) {
    const char* end = done == files ? "\r\033[K" : "";
    std::fprintf(stderr, "\r\033[Kreading %zu of %zu files, %zu MiB%s", done, files,
                 static_cast<std::size_t>(bytes) / mebibyte, end);
  };
}

/// Everything that could be read of the paths.
Gathered gather(const DiagnoseOptions& options, const LogDatabases& databases, Counters& counters,
                Instant now) {
  const auto finder = make_input_finder();
  const std::size_t threads =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, threads_max);
  return gather_all(finder->find(options.paths), databases, counters, now, threads, progress_bar());
}

}  // namespace

CLI::App* add_diagnose_command(CLI::App& app, DiagnoseOptions& options) {
  CLI::App* command = app.add_subcommand(
      "diagnose", "Say from logs and dumps of a run what broke it first, where, and what to do");
  command->add_option("path", options.paths, "Files, folders, archives; - is standard input");
  command->add_option("--html", options.html, "Also write a page with the time line to this file");
  command->add_option(
      "--explain", options.explain,
      "Only say what a rule, cause or signature means; 'rules' and 'causes' are all");
  command->add_option("--catalog", options.catalog, catalog_help);
  command->add_flag("--json", options.json, "Print JSON");
  expect_folders(*command, {"--catalog"});
  command->footer(
      "Reads kernel logs, job logs, flight-recorder dumps, Slurm's and Kubernetes' words; what a "
      "file\n"
      "is follows from its content. Nothing is changed anywhere, and nothing needs to be "
      "installed.\n"
      "Exit codes: 0 nothing wrong, 1 a cause was found, 2 cannot read, 3 undecided.\n"
      "Examples:\n  faultline diagnose run-logs/\n  faultline diagnose slurm-123.out dumps.tar.gz\n"
      "  dmesg | faultline diagnose -\n"
      "  faultline diagnose --explain stuck_operation");
  return command;
}

namespace {

int explain_main(const Catalog& catalog, const std::string& name) {
  const auto text = explain(catalog, name);
  if (!text) return fail(text.error());
  print(*text);
  return exit_ok;
}

Status write_page(const std::string& file, const std::vector<Diagnosis>& diagnoses) {
  return file.empty() ? ok_status() : write_small_file(file, report_html(diagnoses), false);
}

}  // namespace

int diagnose_main(const DiagnoseOptions& options) {
  const auto catalog = load_catalog(options.catalog);
  if (!catalog) return fail(catalog.error());
  if (!options.explain.empty()) return explain_main(*catalog, options.explain);
  if (options.paths.empty()) {
    fail(Error{ErrorCode::invalid_argument, "name files or folders with logs or dumps"});
    return exit_usage;
  }
  Counters counters;
  const LogDatabases databases(*catalog, counters);
  const Instant now = SystemClock().now();
  Gathered gathered = gather(options, databases, counters, now);
  if (const Status compiled = databases.status(); !compiled) return fail(compiled.error());
  const std::vector<InputWarning> warnings = gathered.warnings;
  for (const InputWarning& warning : warnings)
    warn(warning.file + " " + warning.what + "; left out: " + warning.left_out);
  if (gathered.files.empty()) {
    fail(Error{ErrorCode::not_found, "nothing to read: name files or folders with logs or dumps"});
    return exit_usage;
  }
  const std::vector<Diagnosis> diagnoses = diagnose(*catalog, std::move(gathered), now);
  if (const Status written = write_page(options.html, diagnoses); !written)
    return fail(written.error());
  if (options.json) {
    print_json(diagnoses, warnings);
  } else {
    const ReportStyle style = style_of_terminal();
    if (diagnoses.size() > 1)
      print(std::to_string(diagnoses.size()) + " runs are in what was read; each is judged.\n\n");
    for (const Diagnosis& diagnosis : diagnoses) print(report_text(diagnosis, style));
  }
  return exit_code_of(diagnoses);
}

}  // namespace faultline
