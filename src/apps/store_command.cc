#include "apps/store_command.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/option_values.h"
#include "apps/output.h"

namespace faultline {
namespace {

int backup(Store& store, const StoreOptions& options) {
  std::error_code ignored;
  if (std::filesystem::exists(options.to, ignored)) {
    return fail(
        {ErrorCode::conflict,
         options.to + " is there already: choose another name, a backup overwrites nothing"});
  }
  if (const auto copied = store.backup(options.to); !copied) return fail(copied.error());
  if (options.query.json) {
    print(nlohmann::json{{"store", options.query.store}, {"backup", options.to}});
  } else {
    print("copied " + options.query.store + " to " + options.to + "\n");
  }
  return exit_ok;
}

}  // namespace

void add_store_command(CLI::App& app, StoreOptions& options) {
  CLI::App* command = app.add_subcommand("store", "Copy or check the controller's store");
  command->require_subcommand(1);
  CLI::App* copy =
      command->add_subcommand("backup", "A consistent copy, also while the controller runs");
  add_store_options(*copy, options.query);
  copy->add_option("FILE", options.to, "The copy")->required()->check(file_path());
  copy->callback([&options] { options.verb = "backup"; });
  copy->footer("Example:\n  faultline store backup /backup/faultline-monday.db");
  CLI::App* check = command->add_subcommand("check", "Is the store whole?");
  add_store_options(*check, options.query);
  check->callback([&options] { options.verb = "check"; });
  check->footer("Example:\n  faultline store check --json");
  command->footer("Example:\n  faultline store check");
}

int store_main(const StoreOptions& options) {
  const bool checks = options.verb == "check";
  if (const auto log = examine_log(options.query.store, Examine::look); checks && log.damaged)
    return fail({ErrorCode::corrupt, log.text});
  const auto store = open_to_ask(options.query.store);
  if (!store) return fail(store.error());
  if (!checks) return backup(**store, options);
  if (options.query.json) {
    print(nlohmann::json{{"store", options.query.store}, {"whole", true}});
  } else {
    print(options.query.store + " is whole\n");
  }
  return exit_ok;
}

}  // namespace faultline
