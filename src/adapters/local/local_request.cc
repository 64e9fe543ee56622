#include "adapters/local/local_request.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "model/action.h"
#include "model/json.h"
#include "model/json_reader.h"
#include "model/names.h"

namespace faultline {
namespace {

using nlohmann::json;

constexpr std::size_t text_bytes_max = 256;
constexpr std::uint32_t array_task_max = 1'000'000;

Error invalid(std::string text) { return {ErrorCode::invalid_argument, std::move(text)}; }

bool plain(std::string_view text) { return printable(text, text_bytes_max) == text; }

std::size_t bytes_of(const std::vector<std::string>& texts) {
  std::size_t bytes = 0;
  for (const auto& text : texts) bytes += text.size() + 1;
  return bytes;
}

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

/// A number that a folder of this program gave out: digits, no leading zero.
bool base_job_number(std::string_view job) {
  const auto number = parse_number<std::uint64_t>(job);
  return number && *number > 0 && std::to_string(*number) == job;
}

Status check_command(const LocalRequest& request) {
  if (request.argv.empty() || request.argv.front().empty()) return invalid("no command");
  if (std::any_of(request.argv.begin(), request.argv.end(), has_nul))
    return invalid("a NUL in the command");
  if (!std::all_of(request.argv.begin(), request.argv.end(), survives_json) ||
      !survives_json(request.directory)) {
    return invalid("the command or the working folder is not UTF-8");
  }
  if (bytes_of(request.argv) > argv_bytes_max) {
    return invalid(fmt::format("the command is longer than {} bytes", argv_bytes_max));
  }
  if (bytes_of(request.environment) > environment_bytes_max) {
    return invalid(fmt::format(
        "the environment is larger than {} bytes; submit with a smaller one (env -i ...)",
        environment_bytes_max));
  }
  for (const auto& entry : request.environment) {
    const auto equals = entry.find('=');
    if (has_nul(entry) || !survives_json(entry) || equals == std::string::npos || equals == 0 ||
        entry.size() > argument_bytes_max) {
      return invalid("bad environment entry '" + printable(entry, 64) + "'");
    }
  }
  if (request.directory.empty() || request.directory.front() != '/' || has_nul(request.directory)) {
    return invalid("the working folder is no absolute path");
  }
  return ok_status();
}

Status check_submit(const LocalRequest& request) {
  if (!base_job_number(request.job))
    return invalid("bad job id '" + printable(request.job, 64) + "'");
  if (request.node_count == 0 || request.node_count > node_count_max)
    return invalid("bad number of nodes");
  if (!plain(request.name)) return invalid("the name is too long or holds control characters");
  if (request.array.tasks.size() > array_tasks_max) {
    return invalid(fmt::format("more than {} tasks in an array", array_tasks_max));
  }
  std::vector<std::uint32_t> tasks = request.array.tasks;
  std::sort(tasks.begin(), tasks.end());
  if (std::adjacent_find(tasks.begin(), tasks.end()) != tasks.end())
    return invalid("an array task is named twice");
  if (!tasks.empty() && tasks.back() > array_task_max)
    return invalid("an array task number is too large");
  return check_command(request);
}

Status check(const LocalRequest& request) {
  if (!plain(request.by)) return invalid("bad user name");
  switch (request.kind) {
    case LocalRequestKind::submit: return check_submit(request);
    case LocalRequestKind::cancel:
    case LocalRequestKind::release:
      if (!valid_job_id(request.job))
        return invalid("bad job id '" + printable(request.job, 64) +
                       "': give 7, or 7_2 for a task of an array");
      return ok_status();
    case LocalRequestKind::drain:
      if (request.reason.empty() || !plain(request.reason)) {
        return invalid(
            fmt::format("a drain needs a reason of one line, at most {} bytes", text_bytes_max));
      }
      // A person's drain must never be taken for one of ours, which we may undo.
      if (reason_is_ours(request.reason))
        return invalid("a person's reason does not begin with 'faultline:'");
      [[fallthrough]];
    case LocalRequestKind::resume:
      if (!valid_node_name(request.node))
        return invalid("bad node name '" + printable(request.node, 64) +
                       "': letters, digits, '-', '_' and '.', for instance n3");
      return ok_status();
  }
  return invalid("no such request");
}

}  // namespace

Result<ArraySpec> parse_array(std::string_view text) {
  ArraySpec spec;
  const auto bad = [&] {
    return invalid("bad array '" + printable(text, 64) +
                   "'; write it as 1-3, 1,4,7 or 1-100%5 (5 at once)");
  };
  const auto percent = text.find('%');
  if (percent != std::string_view::npos) {
    const auto limit = parse_number<std::uint32_t>(text.substr(percent + 1));
    if (!limit || *limit == 0) return bad();
    spec.limit = *limit;
  }
  for (const auto part : split(text.substr(0, percent), ',')) {
    const auto dash = part.find('-');
    const auto low = parse_number<std::uint32_t>(part.substr(0, dash));
    const auto high =
        dash == std::string_view::npos ? low : parse_number<std::uint32_t>(part.substr(dash + 1));
    if (!low || !high || *high < *low || *high > array_task_max) return bad();
    if (*high - *low >= array_tasks_max || spec.tasks.size() + (*high - *low) >= array_tasks_max) {
      return invalid(fmt::format("more than {} tasks in an array", array_tasks_max));
    }
    for (std::uint32_t task = *low; task <= *high; ++task) spec.tasks.push_back(task);
  }
  return spec;
}

bool survives_json(const std::string& text) {
  const auto back = parse_json(dump(json(text)));
  return back && back->is_string() && back->get_ref<const std::string&>() == text;
}

std::string request_text(const LocalRequest& request) {
  json object{{"kind", to_text(request.kind)}, {"by", request.by}};
  switch (request.kind) {
    case LocalRequestKind::submit:
      object.update({{"job", request.job},
                     {"name", request.name},
                     {"node_count", request.node_count},
                     {"array_tasks", request.array.tasks},
                     {"array_limit", request.array.limit},
                     {"argv", request.argv},
                     {"environment", request.environment},
                     {"directory", request.directory}});
      break;
    case LocalRequestKind::cancel:
    case LocalRequestKind::release: object["job"] = request.job; break;
    case LocalRequestKind::drain: object["reason"] = request.reason; [[fallthrough]];
    case LocalRequestKind::resume: object["node"] = request.node; break;
  }
  return dump(object) + "\n";
}

Result<LocalRequest> parse_request(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed) return parsed.error();
  LocalRequest request;
  JsonReader read(*parsed);
  read.name("kind", request.kind);
  read.text("by", request.by);
  switch (request.kind) {
    case LocalRequestKind::submit:
      read.text("job", request.job);
      read.text("name", request.name);
      read.integer("node_count", request.node_count);
      for (const auto& task : read.list("array_tasks")) {
        if (!task.is_number_unsigned() || task.get<std::uint64_t>() > array_task_max)
          return invalid("bad 'array_tasks'");
        request.array.tasks.push_back(task.get<std::uint32_t>());
      }
      read.integer("array_limit", request.array.limit);
      read.texts("argv", request.argv);
      read.texts("environment", request.environment);
      read.text("directory", request.directory);
      break;
    case LocalRequestKind::cancel:
    case LocalRequestKind::release: read.text("job", request.job); break;
    case LocalRequestKind::drain: read.text("reason", request.reason); [[fallthrough]];
    case LocalRequestKind::resume: read.text("node", request.node); break;
  }
  auto result = read.finish(std::move(request));
  if (!result) return result;
  if (const auto status = check(*result); !status) return status.error();
  return result;
}

Result<std::string> leave_request(const StateFolder& folder, const LocalRequest& request,
                                  Instant now) {
  if (const auto status = check(request); !status) return status.error();
  const std::string text = request_text(request);
  if (text.size() > request_bytes_max)
    return invalid(fmt::format("the request is larger than {} bytes", request_bytes_max));
  // Taken in the order of these names: jobs first, so that what is said about a job finds it.
  const std::string name =
      request.kind == LocalRequestKind::submit
          ? fmt::format("1-{:0>20}", request.job)
          : fmt::format("2-{:020}-{}", now.time_since_epoch().count(), ::getpid());
  if (const auto status = create_once(folder.inbox() / name, text); !status) return status.error();
  return name;
}

}  // namespace faultline
