// nvidia-bug-report.log -> events. The script writes what it gathers as sections between lines of
// underscores, each with a file or a command as its title. Those of the kernel's log go to the
// decoder of kernel logs, nvidia-smi's report to that of GPUs; the rest is passed over.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/log_decoder.h"
#include "ingest/nvidia_smi_text.h"

namespace faultline {

/// Not thread-safe; one for each file. The date comes from the report's head, which a copy of the
/// file keeps, the host's name where `origin` has none. Places are those in the report, unpacked.
/// Memory does not grow with the input.
class NvidiaBugReportDecoder {
 public:
  NvidiaBugReportDecoder(std::shared_ptr<const SignatureDatabase> kernel_database, Origin origin,
                         Counters& counters, const DecoderLimits& limits = {});

  /// `offset` is where the first byte lies in the report; bytes may be cut anywhere.
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset, Instant now);
  std::vector<Event> finish(Instant now);

 private:
  enum class Content { other, kernel, gpus };

  void take_lines(std::string_view bytes, Instant now);
  void take_line(std::string_view line, Instant now);
  void read_head(std::string_view line);
  void begin(Content content, Instant now);
  void end_section(Instant now);
  void flush(std::string_view bytes, Instant now);
  void give(std::vector<Event> events);

  std::shared_ptr<const SignatureDatabase> database_;
  Origin origin_;
  Counters& counters_;
  DecoderLimits limits_;
  Content content_ = Content::other;
  std::unique_ptr<LogDecoder> kernel_;
  std::unique_ptr<NvidiaSmiTextDecoder> gpus_;
  bool dated_ = false;
  bool title_may_follow_ = true;  // after an empty line
  std::string partial_;           // of the unfinished line
  std::uint64_t at_ = 0;          // of the next byte to be looked at
  std::vector<Event> events_;
};

}  // namespace faultline
