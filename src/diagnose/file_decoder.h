// Which decoder reads which kind of content: the one list of them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "diagnose/gather.h"
#include "ingest/log_decoder.h"

namespace faultline {

/// Events of one stream, fed in order and without holes.
class FileDecoder {
 public:
  virtual ~FileDecoder() = default;
  virtual std::vector<Event> feed(std::string_view bytes, std::uint64_t offset) = 0;
  virtual std::vector<Event> finish() = 0;
  /// The text that the events of finish() point into, where it was gathered; "" where they came
  /// with their bytes.
  [[nodiscard]] virtual std::string_view document() const { return {}; }
  /// What was wrong with it, once it is finished: "" if nothing.
  [[nodiscard]] virtual std::string trouble() const { return {}; }
};

/// What is kept of a line of a log: more than is read at once, so that none is cut for where it
/// lies.
inline constexpr std::size_t file_line_bytes_max = 2 * read_bytes;

/// Counts a kernel's lines about faults in a text that is neither a kernel's log nor a job's.
inline constexpr std::string_view pasted_faults_counter = "pasted_kernel_faults_total";

/// A node's own daemon, as its file is called: the scheduler's other logs are about all nodes.
bool written_by_slurmd(std::string_view path);

/// What is known of a file by its name and its first bytes.
Origin origin_of(const InputFile& file, EventSource source, std::string_view head);

/// nullptr for content that is not read.
std::unique_ptr<FileDecoder> make_file_decoder(ContentKind kind, const InputFile& file,
                                               std::string_view head, const LogDatabases& databases,
                                               Counters& counters, Instant now);

}  // namespace faultline
