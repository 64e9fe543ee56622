#include "apps/diagnose_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
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

constexpr std::size_t threads_max = 16;
constexpr int exit_attributed = 1;
constexpr int exit_undecided = 3;
constexpr std::size_t report_columns_max = 120;
constexpr std::size_t report_columns_min = 40;  // a time and its label

ReportStyle style_of_terminal() {
  if (isatty(STDOUT_FILENO) == 0) return {.width = 0};  // whoever reads it looks for whole lines
  ReportStyle style;
  style.colour = std::getenv("NO_COLOR") == nullptr;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::clamp<std::size_t>(size.ws_col, report_columns_min, report_columns_max);
  return style;
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
constexpr std::uint64_t progress_bytes = 16 * mebibyte;  // between two redraws

/// One line on standard error that redraws itself; on a terminal alone.
GatherProgress progress_bar() {
  if (isatty(STDERR_FILENO) == 0) return [](std::size_t, std::size_t, std::uint64_t) {};
  return
      [shown = std::uint64_t{0}](std::size_t done, std::size_t files, std::uint64_t bytes) mutable {
        const char* end = done == files ? "\r\033[K" : "";
        if (bytes < shown + progress_bytes && done < files) return;
        shown = bytes;
        std::fprintf(stderr, "\r\033[Kreading %zu of %zu files, %zu MiB%s", done, files,
                     static_cast<std::size_t>(bytes) / mebibyte, end);
      };
}

/// Where a user's programs keep what they can make again (XDG Base Directory Specification); "" if
/// there is no such place.
std::filesystem::path user_cache() {
  const auto absolute = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value == '/' ? std::filesystem::path(value)
                                             : std::filesystem::path();
  };
  if (const auto cache = absolute("XDG_CACHE_HOME"); !cache.empty()) return cache / "faultline";
  const auto home = absolute("HOME");
  return home.empty() ? home : home / ".cache/faultline";
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
      "Only say what a rule, cause, signature or public case means; 'rules', 'causes' and 'cases' "
      "are all");
  command->add_option("--catalog", options.catalog, catalog_help);
  command->add_flag("--json", options.json, "Print JSON");
  expect_folders(*command, {"--catalog"});
  command->footer(
      "Reads kernel logs, job logs, flight-recorder dumps, Slurm's and Kubernetes' words; what a "
      "file\n"
      "is follows from its content. Nothing is changed, and nothing needs to be installed; "
      "compiled\n"
      "patterns are kept in ~/.cache/faultline.\n"
      "Exit codes: 0 nothing wrong, 1 a cause was found, 2 wrong usage or nothing could be read, 3 "
      "undecided.\n"
      "Examples:\n  faultline diagnose run-logs/\n  faultline diagnose slurm-123.out dumps.tar.gz\n"
      "  dmesg | faultline diagnose -\n"
      "  faultline diagnose --explain stuck_operation");
  return command;
}

namespace {

/// Every exit code of this verb but exit_usage says something of the run.
int refuse(const Error& error) {
  fail(error);
  return exit_usage;
}

int explain_main(const Catalog& catalog, const std::string& name) {
  const auto text = explain(catalog, name);
  if (!text) return refuse(text.error());
  print(*text);
  return exit_ok;
}

/// A page may take the place of an earlier page or of an empty file, and of nothing else: not of a
/// log, not of a device.
Status may_write_page(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::file_status there = fs::status(file, failed);
  if (there.type() == fs::file_type::not_found) {
    const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
    if (fs::is_directory(folder, failed)) return ok_status();
    return Error{ErrorCode::not_found, "--html: there is no folder " + folder.string()};
  }
  if (there.type() == fs::file_type::regular) {
    const auto head = read_file_part(file, 0, page_head.size());
    if (head && (head->empty() || *head == page_head)) return ok_status();
  }
  return Error{
      ErrorCode::conflict,
      "--html: " + file.string() + " is there already and no page of faultline; name another file"};
}

Status write_page(const std::string& file, const std::vector<Diagnosis>& diagnoses,
                  const std::vector<InputWarning>& warnings) {
  if (file.empty()) return ok_status();
  std::error_code no_link;
  const auto behind = std::filesystem::read_symlink(file, no_link);
  const auto target = std::filesystem::path(file).parent_path() / behind;
  return write_small_file(no_link ? std::filesystem::path(file) : target,
                          report_html(diagnoses, warnings), false);
}

void print_text(const std::vector<Diagnosis>& diagnoses) {
  const ReportStyle style = style_of_terminal();
  if (diagnoses.size() > 1)
    print(std::to_string(diagnoses.size()) + " runs are in what was read; each is judged.\n\n");
  for (const Diagnosis& diagnosis : diagnoses) print_coloured(report_text(diagnosis, style));
}

/// Something was understood, if only that it holds nothing of note.
bool was_read(const Gathered& gathered) {
  return std::any_of(gathered.files.begin(), gathered.files.end(),
                     [](const ReadFile& file) { return file.understood; });
}

}  // namespace

int diagnose_main(const DiagnoseOptions& options) {
  const auto catalog = load_catalog(options.catalog);
  if (!catalog) return refuse(catalog.error());
  if (!options.explain.empty()) return explain_main(*catalog, options.explain);
  if (options.paths.empty())
    return refuse({ErrorCode::invalid_argument, "name files or folders with logs or dumps"});
  if (!options.html.empty()) {
    if (const Status may = may_write_page(options.html); !may) return refuse(may.error());
  }
  Counters counters;
  const LogDatabases databases(*catalog, counters, user_cache());
  const Instant now = SystemClock().now();
  Gathered gathered = gather(options, databases, counters, now);
  if (const Status compiled = databases.status(); !compiled) return refuse(compiled.error());
  const std::vector<InputWarning> warnings = gathered.warnings;
  for (const InputWarning& warning : warnings) warn(warning_words(warning));
  if (!was_read(gathered))
    return refuse({ErrorCode::not_found,
                   "nothing that could be read: name files or folders with logs or dumps"});
  const std::vector<Diagnosis> diagnoses = diagnose(*catalog, std::move(gathered), now);
  if (options.json) {
    print(report_json(diagnoses, warnings));
  } else {
    print_text(diagnoses);
  }
  if (const Status written = write_page(options.html, diagnoses, warnings); !written)
    return refuse(written.error());
  return output_is_lost() ? exit_usage : exit_code_of(diagnoses);
}

}  // namespace faultline
