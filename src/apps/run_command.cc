#include "apps/run_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "adapters/agent_socket/socket_path.h"
#include "apps/catalog_path.h"
#include "apps/option_values.h"
#include "apps/run_agent_link.h"
#include "apps/run_child.h"
#include "apps/run_gather.h"
#include "apps/run_identity.h"
#include "apps/run_last_line.h"
#include "apps/run_log.h"
#include "apps/run_own_log.h"
#include "apps/run_rhythm.h"
#include "apps/run_step.h"
#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::size_t read_bytes = 256 * 1024;
// A grandchild may hold the pipe for ever, or print for ever.
constexpr Duration drain_quiet = std::chrono::milliseconds{100};
constexpr Duration drain_time_max = std::chrono::seconds{2};  // from the child's end

void say(std::string_view text) {
  for (const std::string_view line : split(text, '\n'))
    write_all(STDERR_FILENO, fmt::format("faultline: {}\n", line));
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

/// Both outputs go to the same place, so their order can be seen and must be kept.
bool same_output() {
  struct stat out {};
  struct stat err {};
  return ::fstat(STDOUT_FILENO, &out) == 0 && ::fstat(STDERR_FILENO, &err) == 0 &&
         out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

/// The first pipe that we make must not take the number of a closed standard descriptor. True if it
/// was closed.
bool replace_if_closed(int descriptor) {
  if (::fcntl(descriptor, F_GETFD) >= 0) return false;
  const int nowhere = ::open("/dev/null", O_RDWR);
  if (nowhere >= 0 && nowhere != descriptor) {
    ::dup2(nowhere, descriptor);
    ::close(nowhere);
  }
  return true;
}

Duration seconds(double value) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::clamp(value, 0.0, 1e6)));
}

std::string_view name_of(RunLog::Stream stream) {
  return stream == RunLog::Stream::out ? "output" : "error";
}

RunIdentity who(const RunOptions& options) {
  RunIdentity me = identify_run(process_environment(), host_name(), ::getpid());
  if (valid_node_name(options.node)) me.node = options.node;
  return me;
}

std::string socket_of(const RunOptions& options, const RunIdentity& me) {
  std::string path = options.socket;
  if (path.empty()) path = process_environment()("FAULTLINE_AGENT_SOCKET").value_or("");
  if (path.empty()) path = agent_socket_default;
  return expand_socket_path(path, me.node);
}

/// The wrapper around one command, from its start to its exit code.
class Run {
 public:
  explicit Run(const RunOptions& options)
      : options_(options), me_(who(options)), rhythm_({.floor = seconds(options.stall_floor_s)}) {}

  int main();

 private:
  bool start_child();
  void open_log();
  void announce();
  void choose_gathering();
  void watch();
  [[nodiscard]] int timeout_ms() const;
  [[nodiscard]] int descriptor(RunLog::Stream stream) const {
    return stream == RunLog::Stream::out ? child_.out() : child_.err();
  }
  /// What to wait for: nothing while it gathers.
  [[nodiscard]] pollfd waited_for(RunLog::Stream stream) const;
  /// Reads once what is there; closes the stream at its end. How much there was.
  std::size_t pump(RunLog::Stream stream);
  void take(RunLog::Stream stream, std::string_view bytes);
  void pass_on(RunLog::Stream stream, std::string_view bytes);
  void show(RunLog::Stream stream, std::string_view bytes);
  /// Once, in the log and, if it is there, on standard error.
  void say_unread(RunLog::Stream stream);
  void say_lost(RunLog::Stream stream, std::size_t bytes, int problem);
  void note_and_say(const std::string& text);
  void look_for_stall();
  void take_what_is_left(RunLog::Stream stream);
  void tell_end();
  void drain();
  void finish();
  void explain_end();
  bool wait_for_ruling();
  void close(RunLog::Stream stream) {
    stream == RunLog::Stream::out ? child_.close_out() : child_.close_err();
  }

  const RunOptions& options_;
  RunIdentity me_;
  SystemClock clock_;
  RunChild child_;
  RunLog log_;
  std::uint64_t log_start_ = 0;
  OutputRhythm rhythm_;
  OutputGather gather_;
  StepWatch steps_out_;
  StepWatch steps_err_;
  LastLine last_out_;
  LastLine last_err_;
  std::optional<RunAgentLink> agent_;
  LineTagger tag_out_;
  LineTagger tag_err_;
  std::string buffer_ = std::string(read_bytes, '\0');
  std::string tagged_;
  std::optional<ChildEnd> end_;
  Duration ended_at_{0};
  int start_code_ = 0;
  bool out_unread_ = replace_if_closed(STDOUT_FILENO);
  bool err_unread_ = replace_if_closed(STDERR_FILENO);
  std::uint64_t out_lost_bytes_ = 0;
  std::uint64_t err_lost_bytes_ = 0;
};

void Run::open_log() {
  if (options_.log_dir.empty()) return;
  const Status opened = log_.open(options_.log_dir, me_.attempt.job, me_.node, me_.rank);
  if (!opened.ok())
    say(opened.error().message + "; running without a log (choose another --log-dir)");
  log_start_ = log_.start();
}

bool Run::start_child() {
  const std::vector<std::pair<std::string, std::string>> variables = {
      {"FAULTLINE_NODE", me_.node}, {"FAULTLINE_RANK", std::to_string(me_.rank)}};
  const bool merged = same_output();
  const Status started = child_.start(options_.command, variables, merged);
  if (started.ok()) return true;
  say(started.error().message);
  start_code_ = started.error().code == ErrorCode::not_found ? 127 : 126;
  return false;
}

void Run::announce() {
  LauncherMessage start;
  start.verb = LauncherVerb::rank_started;
  start.attempt = me_.attempt;
  start.rank = me_.rank;
  start.at = clock_.now();
  start.local_rank = me_.local_rank;
  start.world = me_.world;
  start.pid = child_.pid();
  start.node = me_.node;
  start.log = log_.path().string();
  start.log_start = log_start_;
  start.gpus = me_.gpus;
  const std::string socket = socket_of(options_, me_);
  agent_.emplace(socket, std::move(start), clock_);
  const Status connected = agent_->connect();
  if (options_.verbose && !connected.ok())
    say("working without an agent: " + connected.error().message);
  if (options_.verbose) {
    say(fmt::format("job {} rank {} of {} on {} (job from {}, rank from {}), log {}",
                    me_.attempt.text(), me_.rank, me_.world, me_.node, me_.job_from, me_.rank_from,
                    log_.path().string()));
  }
}

int Run::main() {
  open_log();
  if (out_unread_) say_unread(RunLog::Stream::out);
  if (err_unread_) say_unread(RunLog::Stream::err);
  if (!start_child()) return start_code_;
  announce();
  choose_gathering();
  watch();
  take_what_is_left(RunLog::Stream::out);
  take_what_is_left(RunLog::Stream::err);
  static_cast<void>(log_.finish(clock_.now()).ok());  // the agent may look into it
  tell_end();
  drain();
  finish();
  explain_end();
  return end_->shell_code();
}

int Run::timeout_ms() const {
  const Duration now = clock_.monotonic();
  Duration wait = std::chrono::seconds{60};
  if (const auto check = rhythm_.next_check()) wait = std::min(wait, *check - now);
  if (!agent_->connected())
    wait = std::min(wait, std::max(agent_->next_try() - now, Duration{std::chrono::seconds{1}}));
  if (gather_.stream()) wait = std::min(wait, gather_.until() - now);
  return static_cast<int>(std::max(wait, Duration{0}) / std::chrono::milliseconds{1}) + 1;
}

/// Not where somebody watches, nor in a pipe that fills at once.
void Run::choose_gathering() {
  const auto look = [&](RunLog::Stream stream, int shown_on) {
    if (::isatty(shown_on) == 1 ||
        ::fcntl(descriptor(stream), F_GETPIPE_SZ) < OutputGather::pipe_bytes_min)
      gather_.never(stream);
  };
  look(RunLog::Stream::out, STDOUT_FILENO);
  look(RunLog::Stream::err, STDERR_FILENO);
}

pollfd Run::waited_for(RunLog::Stream stream) const {
  return {gather_.stream() == stream ? -1 : descriptor(stream), POLLIN, 0};
}

/// Until the child has ended.
void Run::watch() {
  while (!end_) {
    std::array<pollfd, 4> waits{{waited_for(RunLog::Stream::out),
                                 waited_for(RunLog::Stream::err),
                                 {child_.signal_descriptor(), POLLIN, 0},
                                 {agent_->wait_descriptor(), POLLIN, 0}}};
    const int ready = ::poll(waits.data(), waits.size(), timeout_ms());
    // What gathered is older than whatever woke us.
    if (const auto gathered = gather_.end()) pump(*gathered);
    if (waits[0].revents != 0) pump(RunLog::Stream::out);
    if (waits[1].revents != 0) pump(RunLog::Stream::err);
    if (waits[3].revents != 0) agent_->hear();  // refusals only at this stage
    static_cast<void>(agent_->connect().ok());
    look_for_stall();
    // A line of output costs no look at the child: its end comes by the signal.
    if (ready <= 0 || waits[2].revents != 0) end_ = child_.reap();
  }
  ended_at_ = clock_.monotonic();
}

std::size_t Run::pump(RunLog::Stream stream) {
  if (descriptor(stream) < 0) return 0;
  const ssize_t got = ::read(descriptor(stream), buffer_.data(), buffer_.size());
  if (got > 0) {
    take(stream, std::string_view(buffer_.data(), static_cast<std::size_t>(got)));
  } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
    close(stream);
  }
  return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
}

void Run::take(RunLog::Stream stream, std::string_view bytes) {
  if (const Status logged = log_.write(stream, bytes, clock_.now()); !logged.ok()) {
    say(logged.error().message + "; the job goes on, its log has gaps");
  }
  pass_on(stream, bytes);
  (stream == RunLog::Stream::out ? steps_out_ : steps_err_).output(bytes);
  (stream == RunLog::Stream::out ? last_out_ : last_err_).output(bytes);
  if (end_) return;  // its rhythm is over; an orphan's is not its own
  const Duration now = clock_.monotonic();
  gather_.read(stream, bytes.size(), now);
  if (const auto stall = rhythm_.output(now, gather_.gathered() == stream)) {
    LauncherMessage resumed = agent_->message(LauncherVerb::progress_resumed);
    resumed.silent = stall->silent;
    resumed.usual = stall->usual;
    agent_->tell(resumed);
    if (options_.verbose) say(fmt::format("progress resumed after {}", to_text(stall->silent)));
  }
}

void Run::pass_on(RunLog::Stream stream, std::string_view bytes) {
  if (options_.tag) {
    tagged_.clear();
    (stream == RunLog::Stream::out ? tag_out_ : tag_err_)
        .feed(bytes, fmt::format("[{} rank{}] ", me_.node, me_.rank), tagged_);
    bytes = tagged_;
  }
  show(stream, bytes);
}

void Run::show(RunLog::Stream stream, std::string_view bytes) {
  const bool out = stream == RunLog::Stream::out;
  bool& unread = out ? out_unread_ : err_unread_;
  if (unread) return;
  const int problem = write_all(out ? STDOUT_FILENO : STDERR_FILENO, bytes);
  if (problem == 0) return;
  if (problem != EPIPE) return say_lost(stream, bytes.size(), problem);
  unread = true;
  // Without a log the command is to learn it as it would without us, by SIGPIPE.
  log_.path().empty() ? close(stream) : say_unread(stream);
}

void Run::say_unread(RunLog::Stream stream) {
  note_and_say(fmt::format("nobody reads our standard {}; the command goes on{}", name_of(stream),
                           log_.path().empty() ? "" : ", its log has everything"));
}

/// Not the command's fault, and it may pass: the next bytes are tried again.
void Run::say_lost(RunLog::Stream stream, std::size_t bytes, int problem) {
  std::uint64_t& lost = stream == RunLog::Stream::out ? out_lost_bytes_ : err_lost_bytes_;
  if (std::exchange(lost, lost + bytes) != 0) return;
  note_and_say(fmt::format("cannot write our standard {}: {}; the command goes on{}",
                           name_of(stream), std::strerror(problem),
                           log_.path().empty() ? "" : ", its log has everything"));
}

void Run::note_and_say(const std::string& text) {
  static_cast<void>(log_.note(text, clock_.now()).ok());
  say(text);
}

void Run::look_for_stall() {
  const auto stall = rhythm_.check(clock_.monotonic());
  if (!stall) return;
  LauncherMessage stalled = agent_->message(LauncherVerb::progress_stalled);
  stalled.silent = stall->silent;
  stalled.usual = stall->usual;
  agent_->tell(stalled);
  if (options_.verbose) say(fmt::format("no output for {}", to_text(stall->silent)));
}

/// What the pipe held when the child had ended: all that it wrote, without waiting for more.
void Run::take_what_is_left(RunLog::Stream stream) {
  int left_bytes = 0;
  if (descriptor(stream) >= 0) ::ioctl(descriptor(stream), FIONREAD, &left_bytes);
  while (left_bytes > 0) {
    const std::size_t got = pump(stream);
    if (got == 0) return;
    left_bytes -= static_cast<int>(got);
  }
}

void Run::tell_end() {
  LauncherMessage exited = agent_->message(LauncherVerb::rank_exited);
  if (end_->exit_code) exited.exit_code = *end_->exit_code;
  if (end_->signal) exited.signal = *end_->signal;
  exited.core_dumped = end_->core_dumped;
  exited.step = std::max(steps_out_.last(), steps_err_.last());  // nothing is less than any step
  if (end_->failed()) {
    exited.last_line = last_err_.text();  // where programs say why they end
    if (exited.last_line->empty()) exited.last_line = last_out_.text();
  }
  agent_->tell(exited);
}

/// What grandchildren still print. The end of the stream may never come, if one lives on.
void Run::drain() {
  while (child_.out() >= 0 || child_.err() >= 0) {
    const Duration left = ended_at_ + drain_time_max - clock_.monotonic();
    if (left <= Duration{0}) return;
    std::array<pollfd, 2> waits{{{child_.out(), POLLIN, 0}, {child_.err(), POLLIN, 0}}};
    const int ready =
        ::poll(waits.data(), waits.size(),
               static_cast<int>(std::min(drain_quiet, left) / std::chrono::milliseconds{1}));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    if (waits[0].revents != 0) pump(RunLog::Stream::out);
    if (waits[1].revents != 0) pump(RunLog::Stream::err);
  }
}

void Run::finish() {
  static_cast<void>(log_.finish(clock_.now()).ok());
  if (options_.tag) {
    const std::string prefix = fmt::format("[{} rank{}] ", me_.node, me_.rank);
    std::string out;
    std::string err;
    tag_out_.finish(prefix, out);
    tag_err_.finish(prefix, err);
    show(RunLog::Stream::out, out);
    show(RunLog::Stream::err, err);
  }
  const auto say_missing = [](std::uint64_t bytes, const std::string& place) {
    if (bytes > 0) say(fmt::format("{} bytes of output are missing in {}", bytes, place));
  };
  say_missing(log_.lost_bytes(), log_.path().string());
  say_missing(out_lost_bytes_, "our standard output");
  say_missing(err_lost_bytes_, "our standard error");
}

void Run::explain_end() {
  // Whoever asked us to stop knows why, and waits for us.
  if (!end_->failed() || RunChild::asked_to_stop()) return;
  if (agent_->connected() && options_.ruling_wait_s > 0 && wait_for_ruling()) return;
  if (agent_->connected()) return;
  for (const std::string& line :
       explain_own_log(log_.path(), log_start_, me_, options_.catalog, clock_.now()))
    say(line);
}

/// The last chance to say in the job's own output what broke. False if the agent went away
/// meanwhile.
bool Run::wait_for_ruling() {
  const Duration deadline = clock_.monotonic() + seconds(options_.ruling_wait_s);
  agent_->tell(agent_->message(LauncherVerb::await_ruling));
  while (agent_->connected() && !RunChild::asked_to_stop()) {
    const Duration left = deadline - clock_.monotonic();
    if (left <= Duration{0}) {
      say(fmt::format("no ruling within {:g} s; exiting", options_.ruling_wait_s));
      return true;
    }
    std::array<pollfd, 2> waits{
        {{agent_->wait_descriptor(), POLLIN, 0}, {child_.signal_descriptor(), POLLIN, 0}}};
    ::poll(waits.data(), waits.size(), static_cast<int>(left / std::chrono::milliseconds{1}) + 1);
    static_cast<void>(child_.reap());  // empties the signal pipe
    for (const LauncherReply& reply : agent_->hear()) {
      if (reply.kind == LauncherReply::Kind::refused) {
        // It will say nothing about a rank that is not its business.
        if (options_.verbose) say("the agent refused: " + reply.text);
        agent_->leave();
        return false;
      }
      if (reply.attempt != me_.attempt) continue;
      say(reply.text);
      if (reply.final) return true;
    }
  }
  return RunChild::asked_to_stop();
}

}  // namespace

void add_run_command(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand(
      "run", "Run one rank of a job, watched: faultline run [options] -- CMD...");
  run->add_option("--log-dir", options.log_dir, "Folder for the rank's log; \"\" for none")
      ->capture_default_str();
  run->add_flag("--tag", options.tag, "Show node and rank before each line of output");
  run->add_option("--socket", options.socket,
                  "The agent's socket; %n is the node (default: $FAULTLINE_AGENT_SOCKET, "
                  "/run/faultline/agent.sock)");
  run->add_option("--node", options.node, "This node's name, if the launcher does not say it right")
      ->check(node_name());
  run->add_option("--ruling-wait", options.ruling_wait_s,
                  "After a failure, wait so many seconds for the ruling; 0 for not at all")
      ->capture_default_str()
      ->check(real_number(0, 3600, 10));
  run->add_option("--stall-floor", options.stall_floor_s,
                  "Never suspect a stall before so many seconds without output")
      ->capture_default_str()
      ->check(real_number(1, 86400, 60));
  run->add_option("--catalog", options.catalog, catalog_help);
  run->add_flag("-v,--verbose", options.verbose, "Say what is done");
  run->add_option("command", options.command, "The command and its arguments, after --");
  run->footer(
      "Examples:\n"
      "  srun faultline run -- python3 train.py\n"
      "  mpirun -n 8 faultline run --tag -- ./train_lm --steps 100");
}

int run_main(const RunOptions& options) {
  if (options.command.empty()) {
    say("nothing to run: faultline run [options] -- CMD...");
    return 2;
  }
  return Run(options).main();
}

}  // namespace faultline
