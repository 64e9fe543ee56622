#include "fault.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace train_lm {
namespace {

constexpr std::array<std::pair<std::string_view, FaultKind>, 10> kKinds = {{
    {"ecc", FaultKind::kEcc},
    {"launch", FaultKind::kLaunch},
    {"oom", FaultKind::kOutOfMemory},
    {"assert", FaultKind::kAssert},
    {"exception", FaultKind::kException},
    {"hang", FaultKind::kHang},
    {"sigkill", FaultKind::kSigkill},
    {"nan", FaultKind::kNan},
    {"bitflip", FaultKind::kBitflip},
    {"slow", FaultKind::kSlow},
}};

std::optional<FaultKind> kind_named(std::string_view word) {
  for (const auto& [name, kind] : kKinds) {
    if (name == word) return kind;
  }
  return std::nullopt;
}

struct Line {
  std::string host;
  Fault fault;
  std::uint64_t from_step = 0;
};

[[noreturn]] void refuse(const std::string& line) {
  throw std::runtime_error("fault file: cannot understand '" + line + "'");
}

template <class Number>
bool parse_option(std::string_view word, std::string_view key, Number& value) {
  if (!word.starts_with(key)) return false;
  word.remove_prefix(key.size());
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

Line parse_line(const std::string& text) {
  std::istringstream words(text);
  Line line;
  std::string word;
  words >> line.host >> word;
  const auto kind = kind_named(word);
  if (!kind) refuse(text);
  line.fault.kind = *kind;
  while (words >> word) {
    if (!parse_option(word, "step=", line.from_step) &&
        !parse_option(word, "ms=", line.fault.slow_ms)) {
      refuse(text);
    }
  }
  return line;
}

constexpr std::string_view kCudaAdvice =
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
    "below might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n";

std::string traceback(std::string_view last_call, std::string_view error) {
  std::string text =
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 148, in <module>\n"
      "    main()\n"
      "  File \"train.py\", line 131, in main\n";
  text += "    ";
  text += last_call;
  text += '\n';
  text += error;
  text += '\n';
  return text;
}

std::string cuda_error(std::string_view what) {
  return traceback("loss.backward()", "RuntimeError: CUDA error: " + std::string(what)) +
         std::string(kCudaAdvice);
}

std::string last_words(FaultKind kind) {
  switch (kind) {
    case FaultKind::kEcc: return cuda_error("uncorrectable ECC error encountered");
    case FaultKind::kLaunch: return cuda_error("unspecified launch failure");
    case FaultKind::kOutOfMemory: return cuda_error("out of memory");
    case FaultKind::kAssert:
      return "../aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: "
             "block: "
             "[0,0,0], thread: [5,0,0] Assertion `t >= 0 && t < n_classes` failed.\n" +
             cuda_error("device-side assert triggered");
    case FaultKind::kException:
      return traceback("tokens = batch[\"input_ids\"]", "KeyError: 'input_ids'");
    case FaultKind::kHang:
    case FaultKind::kSigkill:
    case FaultKind::kNan:
    case FaultKind::kBitflip:
    case FaultKind::kSlow: break;
  }
  return {};
}

}  // namespace

std::optional<Fault> parse_fault(std::string_view text, std::string_view host, std::uint64_t step) {
  std::istringstream lines{std::string(text)};
  for (std::string text_line; std::getline(lines, text_line);) {
    if (text_line.find_first_not_of(" \t\r") == std::string::npos || text_line[0] == '#') continue;
    const Line line = parse_line(text_line);
    if ((line.host == host || line.host == "*") && step >= line.from_step) return line.fault;
  }
  return std::nullopt;
}

std::optional<Fault> read_fault(const std::filesystem::path& file, std::string_view host,
                                std::uint64_t step) {
  if (file.empty()) return std::nullopt;
  std::ifstream in(file);
  if (!in) return std::nullopt;
  // Not by iterators: they throw when the file cannot be read.
  std::string text;
  for (std::string line; std::getline(in, line);) text += line + "\n";
  return parse_fault(text, host, step);
}

void die_of(FaultKind kind) {
  std::fflush(nullptr);
  if (kind == FaultKind::kSigkill) std::raise(SIGKILL);
  while (kind == FaultKind::kHang) ::pause();
  // One call, so that the lines of ranks that fail together do not mix.
  const std::string words = last_words(kind);
  std::fwrite(words.data(), 1, words.size(), stderr);
  std::fflush(stderr);
  std::_Exit(1);
}

}  // namespace train_lm
