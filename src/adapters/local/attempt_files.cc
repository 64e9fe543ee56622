#include "adapters/local/attempt_files.h"

#include <nlohmann/json.hpp>

#include "model/json.h"
#include "model/json_reader.h"

namespace faultline {
namespace {

using nlohmann::json;

json process_json(const ProcessId& id) {
  return {{"pid", id.pid}, {"start_ticks", id.start_ticks}, {"boot_id", id.boot_id}};
}

ProcessId read_process(JsonReader& read) {
  ProcessId id;
  read.integer("pid", id.pid);
  read.integer("start_ticks", id.start_ticks);
  read.text("boot_id", id.boot_id);
  return id;
}

}  // namespace

std::string to_file(const LaunchFile& file) {
  return dump(json{{"argv", file.argv},
                   {"environment", file.environment},
                   {"directory", file.directory},
                   {"grace_ns", file.grace.count()}}) +
         "\n";
}

Result<LaunchFile> parse_launch_file(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed) return parsed.error();
  LaunchFile file;
  JsonReader read(*parsed);
  read.texts("argv", file.argv);
  read.texts("environment", file.environment);
  read.text("directory", file.directory);
  std::int64_t grace = 0;
  read.integer("grace_ns", grace);
  file.grace = Duration{grace};
  return read.finish(std::move(file));
}

std::string to_file(const RunFile& file) {
  return dump(json{{"keeper", process_json(file.keeper)},
                   {"command", file.command ? process_json(*file.command) : json()}}) +
         "\n";
}

Result<RunFile> parse_run_file(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed) return parsed.error();
  RunFile file;
  JsonReader read(*parsed);
  JsonReader keeper = read.object("keeper");
  file.keeper = read_process(keeper);
  if (read.raw("command").is_null()) return read.finish(std::move(file), keeper);
  JsonReader command = read.object("command");
  file.command = read_process(command);
  auto result = read.finish(std::move(file), keeper);
  if (!result) return result;
  return command.finish(std::move(result).value());
}

std::string to_file(const LocalEnd& end) {
  return dump(json{{"exit_code", end.exit_code ? json(*end.exit_code) : json()},
                   {"ended_ns", end.at.time_since_epoch().count()},
                   {"detail", end.detail}}) +
         "\n";
}

Result<LocalEnd> parse_exit_file(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed) return parsed.error();
  LocalEnd end;
  JsonReader read(*parsed);
  read.optional_integer("exit_code", end.exit_code);
  read.nanoseconds("ended_ns", end.at);
  read.text("detail", end.detail);
  return read.finish(std::move(end));
}

}  // namespace faultline
