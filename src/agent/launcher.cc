#include "agent/launcher.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "model/json.h"
#include "model/names.h"

namespace faultline {
namespace {

using nlohmann::json;

constexpr std::int64_t rank_max = 10'000'000;
constexpr std::size_t path_bytes_max = 4096;
constexpr std::size_t gpus_max = 64;
constexpr std::size_t ruling_bytes_max = 4096;

Error wrong(std::string_view what) {
  return Error{ErrorCode::invalid_argument, "launcher: " + std::string(what)};
}

std::int64_t to_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

/// A reader of one object that remembers whether something was malformed; a missing key is the
/// default.
class Reader {
 public:
  explicit Reader(const json& object) : object_(object) {}

  std::string text(const char* key, std::size_t bytes_max) {
    const auto it = object_.find(key);
    if (it == object_.end()) return {};
    if (!it->is_string() || it->get_ref<const std::string&>().size() > bytes_max)
      return fail<std::string>(key);
    return it->get<std::string>();
  }
  std::int64_t number(const char* key, std::int64_t absent, std::int64_t low, std::int64_t high) {
    const auto it = object_.find(key);
    if (it == object_.end()) return absent;
    // A whole number above 2^63 is unsigned in the parser and would wrap.
    const bool fits = it->is_number_integer() &&
                      (!it->is_number_unsigned() || it->get<std::uint64_t>() <= INT64_MAX);
    const auto value = fits ? it->get<std::int64_t>() : low - 1;
    return value < low || value > high ? fail<std::int64_t>(key) : value;
  }
  bool flag(const char* key) {
    const auto it = object_.find(key);
    if (it == object_.end()) return false;
    return it->is_boolean() ? it->get<bool>() : fail<bool>(key);
  }
  std::vector<std::string> texts(const char* key, std::size_t count_max, std::size_t bytes_max) {
    std::vector<std::string> out;
    const auto it = object_.find(key);
    if (it == object_.end()) return out;
    if (!it->is_array() || it->size() > count_max) return fail<std::vector<std::string>>(key);
    for (const json& item : *it) {
      if (!item.is_string() || item.get_ref<const std::string&>().size() > bytes_max)
        return fail<std::vector<std::string>>(key);
      out.push_back(item.get<std::string>());
    }
    return out;
  }
  [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  template <class T>
  T fail(const char* key) {
    if (problem_.empty()) problem_ = std::string("bad value of ") + key;
    return T{};
  }

 private:
  const json& object_;
  std::string problem_;
};

AttemptId read_attempt(Reader& reader) {
  AttemptId attempt;
  attempt.job = reader.text("job", 253);
  if (!valid_job_id(attempt.job)) reader.fail<int>("job");
  attempt.restart = static_cast<std::uint32_t>(reader.number("restart", 0, 0, 1'000'000));
  return attempt;
}

void read_start(Reader& reader, LauncherMessage& message) {
  message.local_rank = static_cast<std::int32_t>(reader.number("local_rank", -1, -1, rank_max));
  message.world = static_cast<std::int32_t>(reader.number("world", 0, 0, rank_max));
  message.pid = reader.number("pid", 0, 0, INT32_MAX);
  message.node = reader.text("node", 253);
  if (!message.node.empty() && !valid_node_name(message.node)) reader.fail<int>("node");
  message.log = reader.text("log", path_bytes_max);
  if (!message.log.empty() &&
      (message.log.front() != '/' || message.log.find('\0') != std::string::npos)) {
    reader.fail<int>("log");
  }
  message.log_start = static_cast<std::uint64_t>(reader.number("log_start", 0, 0, INT64_MAX));
  message.gpus = reader.texts("gpus", gpus_max, 64);
}

void read_end(Reader& reader, LauncherMessage& message) {
  if (reader.has("exit_code"))
    message.exit_code = static_cast<std::int32_t>(reader.number("exit_code", 0, 0, 255));
  if (reader.has("signal"))
    message.signal = static_cast<std::int32_t>(reader.number("signal", 0, 1, 64));
  if (message.exit_code.has_value() == message.signal.has_value())
    reader.fail<int>("exit_code or signal");
  message.core_dumped = reader.flag("core_dumped");
  if (reader.has("step"))
    message.step = static_cast<std::uint64_t>(reader.number("step", 0, 0, INT64_MAX));
  if (reader.has("last_line"))
    message.last_line =
        printable(reader.text("last_line", 4 * last_line_bytes_max), last_line_bytes_max);
}

/// A ruling has several lines; each is made safe to show.
std::string printable_lines(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text.substr(0, ruling_bytes_max), '\n')) {
    if (!out.empty()) out += '\n';
    out += printable(line, 1024);
  }
  return out;
}

Result<json> parse_object(std::string_view line) {
  if (line.size() > launcher_line_bytes_max) return wrong("line too long");
  // Depth first: a recursive parser must not be led into the ground by a line of brackets.
  int depth = 0;
  for (const char c : line) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (depth > 8) return wrong("nested too deeply");
  }
  auto parsed = parse_json(line);
  if (!parsed.ok() || !parsed->is_object()) return wrong("not a JSON object");
  return std::move(parsed).value();
}

}  // namespace

std::string to_line(const LauncherMessage& message) {
  json object = {{"verb", std::string(to_text(message.verb))},
                 {"job", message.attempt.job},
                 {"restart", message.attempt.restart},
                 {"rank", message.rank},
                 {"at", to_text(message.at)}};
  switch (message.verb) {
    case LauncherVerb::rank_started:
      object.update({{"local_rank", message.local_rank},
                     {"world", message.world},
                     {"pid", message.pid},
                     {"node", message.node},
                     {"log", message.log},
                     {"log_start", message.log_start},
                     {"gpus", message.gpus}});
      break;
    case LauncherVerb::rank_exited:
      if (message.exit_code) object["exit_code"] = *message.exit_code;
      if (message.signal) object["signal"] = *message.signal;
      object["core_dumped"] = message.core_dumped;
      if (message.step) object["step"] = *message.step;
      if (message.last_line)
        object["last_line"] = printable(*message.last_line, last_line_bytes_max);
      break;
    case LauncherVerb::progress_stalled:
    case LauncherVerb::progress_resumed:
      object.update({{"silent_ms", to_ms(message.silent)}, {"usual_ms", to_ms(message.usual)}});
      break;
    case LauncherVerb::await_ruling: break;
  }
  return dump(object);
}

std::string to_line(const LauncherReply& reply) {
  json object = {{"kind", std::string(to_text(reply.kind))},
                 {"final", reply.final},
                 {"text", printable_lines(reply.text)}};
  if (!reply.attempt.job.empty())
    object.update({{"job", reply.attempt.job}, {"restart", reply.attempt.restart}});
  return dump(object);
}

Result<LauncherMessage> parse_launcher_message(std::string_view line) {
  const auto object = parse_object(line);
  if (!object.ok()) return object.error();
  Reader reader(object.value());
  LauncherMessage message;
  const auto verb = parse_enum<LauncherVerb>(reader.text("verb", 64));
  if (!verb) return wrong("unknown verb");
  message.verb = *verb;
  message.attempt = read_attempt(reader);
  message.rank = static_cast<std::int32_t>(reader.number("rank", -1, 0, rank_max));
  if (!reader.has("rank")) reader.fail<int>("rank");
  const auto at = parse_instant(reader.text("at", 64));
  if (!at) return wrong("bad value of at");
  message.at = *at;
  if (*verb == LauncherVerb::rank_started) read_start(reader, message);
  if (*verb == LauncherVerb::rank_exited) read_end(reader, message);
  constexpr std::int64_t month_ms = 31LL * 24 * 3600 * 1000;
  message.silent = std::chrono::milliseconds{reader.number("silent_ms", 0, 0, month_ms)};
  message.usual = std::chrono::milliseconds{reader.number("usual_ms", 0, 0, month_ms)};
  if (!reader.problem().empty()) return wrong(reader.problem());
  return message;
}

Result<LauncherReply> parse_launcher_reply(std::string_view line) {
  const auto object = parse_object(line);
  if (!object.ok()) return object.error();
  Reader reader(object.value());
  LauncherReply reply;
  const auto kind = parse_enum<LauncherReply::Kind>(reader.text("kind", 64));
  if (!kind) return wrong("unknown reply");
  reply.kind = *kind;
  if (reader.has("job"))
    reply.attempt = read_attempt(reader);  // a refused line may not have named one
  reply.final = reader.flag("final");
  reply.text = reader.text("text", launcher_line_bytes_max);
  if (!reader.problem().empty()) return wrong(reader.problem());
  return reply;
}

}  // namespace faultline
