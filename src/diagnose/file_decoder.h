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

/// What is known of a file before it is read.
Origin origin_of(const InputFile& file, EventSource source);

/// nullptr for content that is not read.
std::unique_ptr<FileDecoder> make_file_decoder(ContentKind kind, const InputFile& file,
                                               const LogDatabases& databases, Counters& counters,
                                               Instant now);

}  // namespace faultline
