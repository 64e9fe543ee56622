#include "adapters/nvml/nvml_sampler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/json.h"

namespace faultline {
namespace {

constexpr std::size_t line_bytes_max = 256 * 1024;
constexpr std::size_t gpus_max = 64;

using nlohmann::json;

template <class Number>
std::optional<Number> number(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? std::optional(it->get<Number>())
                                                       : std::nullopt;
}

std::optional<bool> flag(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_boolean() ? std::optional(it->get<bool>()) : std::nullopt;
}

std::string text(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

GpuSample read_sample(const json& object) {
  GpuSample sample;
  sample.pci_address = text(object, "pci");
  sample.uuid = text(object, "uuid");
  sample.serial = text(object, "serial");
  sample.index = number<std::int32_t>(object, "index").value_or(-1);
  sample.temperature_c = number<std::int64_t>(object, "temperature_c");
  sample.throttle_reasons = number<std::uint64_t>(object, "throttle_reasons");
  sample.ecc_corrected_total = number<std::uint64_t>(object, "ecc_corrected_total");
  sample.ecc_uncorrected_total = number<std::uint64_t>(object, "ecc_uncorrected_total");
  sample.remapped_rows_uncorrected = number<std::uint64_t>(object, "remapped_rows_uncorrected");
  sample.remap_pending = flag(object, "remap_pending");
  sample.remap_failed = flag(object, "remap_failed");
  sample.recovery_action = number<std::int64_t>(object, "recovery_action");
  return sample;
}

}  // namespace

std::vector<std::string> nvml_child_command() { return {"/proc/self/exe", "nvml-child"}; }

Result<std::vector<GpuSample>> parse_nvml_line(std::string_view line) {
  const auto parsed = parse_json(line);
  if (!parsed.ok() || !parsed->is_object())
    return Error{ErrorCode::corrupt, "the NVML child's answer is not JSON"};
  const json& object = parsed.value();
  if (const std::string error = text(object, "error"); !error.empty()) {
    return Error{
        flag(object, "absent").value_or(false) ? ErrorCode::not_found : ErrorCode::unavailable,
        error};
  }
  const auto gpus = object.find("gpus");
  if (gpus == object.end() || !gpus->is_array())
    return Error{ErrorCode::corrupt, "the NVML child's answer has no GPUs"};
  std::vector<GpuSample> samples;
  for (const json& gpu : *gpus) {
    if (gpu.is_object() && samples.size() < gpus_max) samples.push_back(read_sample(gpu));
  }
  return samples;
}

NvmlSampler::NvmlSampler(std::vector<std::string> command, const Clock& clock, Limits limits)
    : command_(std::move(command)), clock_(clock), limits_(limits) {}

NvmlSampler::~NvmlSampler() { kill_child(); }

Status NvmlSampler::start() {
  if (pid_ > 0) return ok_status();
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error{ErrorCode::unavailable, fmt::format("socketpair: {}", std::strerror(errno))};
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command_)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(ends[1], STDIN_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGPIPE, SIG_DFL);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  if (pid_ < 0) {
    ::close(ends[0]);
    return Error{ErrorCode::unavailable, fmt::format("fork: {}", std::strerror(errno))};
  }
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  to_child_ = from_child_ = ends[0];
  in_.clear();
  asked_ = false;
  return ok_status();
}

void NvmlSampler::kill_child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::close(from_child_);
  to_child_ = from_child_ = -1;
  dying_ = std::exchange(pid_, -1);
  asked_ = false;
  // Usually it is gone within a moment; one inside the driver is looked for again later and never
  // waited for.
  for (int i = 0; i < 20 && zombie_left(); ++i) ::usleep(1000);
}

bool NvmlSampler::zombie_left() {
  if (dying_ <= 0) return false;
  const pid_t reaped = ::waitpid(dying_, nullptr, WNOHANG);
  if (reaped == dying_ || (reaped < 0 && errno == ECHILD)) dying_ = -1;
  return dying_ > 0;
}

Error NvmlSampler::give_up(ErrorCode code, std::string why) {
  kill_child();
  const int doublings = std::min(failures_++, 16);
  quiet_until_ =
      clock_.monotonic() + std::min(limits_.pause_max, limits_.pause_min * (1 << doublings));
  return Error{code, std::move(why)};
}

Result<std::string> NvmlSampler::wait_for_line(Duration deadline) {
  const Duration until = clock_.monotonic() + deadline;
  std::array<char, 4096> buffer{};
  while (true) {
    if (const std::size_t newline = in_.find('\n'); newline != std::string::npos) {
      std::string line = in_.substr(0, newline);
      in_.erase(0, newline + 1);
      return line;
    }
    if (in_.size() > line_bytes_max)
      return give_up(ErrorCode::corrupt, "the NVML child talks too much");
    const ssize_t got = ::recv(from_child_, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      in_.append(buffer.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
      return give_up(ErrorCode::unavailable, "the NVML child died");
    const Duration left = until - clock_.monotonic();
    if (left <= Duration{0}) break;
    pollfd wait{from_child_, POLLIN, 0};
    const auto wait_ms = static_cast<int>(left / std::chrono::milliseconds{1}) + 1;
    if (::poll(&wait, 1, wait_ms) == 0) break;  // counted in real time, whatever our clock says
  }
  if (clock_.monotonic() - asked_at_ < limits_.answer_max)
    return Error{ErrorCode::unavailable, "no answer yet"};
  return give_up(ErrorCode::deadline_exceeded,
                 fmt::format("the driver has not answered for {}; its process was killed",
                             to_text(limits_.answer_max)));
}

Result<std::vector<GpuSample>> NvmlSampler::sample(Duration deadline) {
  if (zombie_left())
    return Error{ErrorCode::deadline_exceeded, "a process still hangs in the driver"};
  if (clock_.monotonic() < quiet_until_)
    return Error{ErrorCode::unavailable, "waiting before the next try"};
  FAULTLINE_TRY(start());
  if (!asked_) {
    if (::send(to_child_, "sample\n", 7, MSG_NOSIGNAL) != 7)
      return give_up(ErrorCode::unavailable, "the NVML child died");
    asked_ = true;
    asked_at_ = clock_.monotonic();
  }
  const auto line = wait_for_line(deadline);
  if (!line.ok()) return line.error();
  asked_ = false;
  auto samples = parse_nvml_line(line.value());
  if (samples.ok()) {
    failures_ = 0;
    return samples;
  }
  // Without NVML the child need not stay: it costs memory beside a training job.
  if (samples.error().code == ErrorCode::not_found) kill_child();
  return samples;
}

}  // namespace faultline
