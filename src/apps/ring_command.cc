#include "apps/ring_command.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "adapters/rings/ring_file.h"
#include "apps/output.h"
#include "apps/ring_waits.h"
#include "base/clock.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;

Result<RingView> look(const fs::path& path) {
  auto snapshot = read_ring_file(path);
  if (!snapshot) return snapshot.error();
  RingView view{path.string(), std::move(snapshot).value(), WriterLife::elsewhere, {}};
  view.life = life_of_writer(view.ring.identity);
  view.until = view.ring.last_sign;
  if (view.life == WriterLife::running || view.life == WriterLife::stopped) {
    const SystemClock clock;
    view.until = {true, clock.monotonic(), clock.now()};
  }
  return view;
}

/// A folder stands for the black boxes in it.
Result<std::vector<fs::path>> files_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return std::vector<fs::path>{path};
  auto found = rings_in(path);
  if (found.ok() && found->empty())
    return Error{ErrorCode::not_found, path + ": no black boxes (*.ring) in it"};
  return found;
}

void show(const std::vector<RingView>& views, const RingOptions& options) {
  if (options.json) {
    auto rings = nlohmann::json::array();
    for (const RingView& view : views) rings.push_back(ring_json(view));
    return print(nlohmann::json{{"rings", std::move(rings)}, {"waits", ring_waits_json(views)}});
  }
  std::string text;
  for (const RingView& view : views)
    text += (text.empty() ? "" : "\n") + ring_text(view, options.all);
  print(text + ring_waits_text(views));
}

}  // namespace

void add_ring_command(CLI::App& app, RingOptions& options) {
  CLI::App* command = app.add_subcommand(
      "ring",
      "Show the black box of a process: what it communicates, what is in flight and for how long");
  command->add_option("FILE", options.paths, "Black boxes, or folders of them")->required();
  command->add_flag("--all", options.all, "Also all that is over, and peers that nobody waits for");
  command->add_flag("--json", options.json, "Print JSON");
  command->footer(
      "Of several ranks of a job it also says whom the others wait for, if they wait for longer "
      "than "
      "a few seconds.\n"
      "They lie in FAULTLINE_RING_DIR, else in /dev/shm/faultline-UID, and outlive their process. "
      "Nothing is changed.\n"
      "Examples:\n"
      "  faultline ring /dev/shm/faultline-$UID\n"
      "  faultline ring --json 4711-3-12345-8812345-4026531836-0.ring");
}

int ring_main(const RingOptions& options) {
  int code = exit_ok;
  std::vector<RingView> views;
  const auto failed = [&](const Error& error) { code = std::max(code, fail(error)); };
  for (const std::string& path : options.paths) {
    const auto files = files_of(path);
    if (!files) {
      failed(files.error());
      continue;
    }
    for (const fs::path& file : *files) {
      const auto view = look(file);
      if (view) {
        views.push_back(*view);
      } else {
        failed(view.error());
      }
    }
  }
  show(views, options);
  return code;
}

}  // namespace faultline
