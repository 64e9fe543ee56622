// What a diagnosis is made from: named streams of bytes, wherever they lie. Made real by
// adapters/files; a test makes its own of strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace faultline {

struct InputFile {
  /// As the user can find it, and safe to print: "logs/rank3.log", "run.tar.zst/logs/rank3.log";
  /// "-" is standard input.
  std::string name;
  Instant modified;
  /// Of the stream; 0 where that is not known beforehand.
  std::uint64_t bytes = 0;
  /// It comes out of an archive or a compressed file.
  bool packed = false;
  /// The number by which its name differs from those of its siblings (name_hint.h); -1 without one.
  std::int32_t number_among_siblings = -1;
  /// The machine at whose prompt it was printed; "" if nothing says it.
  std::string prompt_host = {};
};

class InputReader {
 public:
  virtual ~InputReader() = default;
  /// Fills the front of `into` (not empty); fewer bytes than fit are no sign of the end, 0 is.
  /// After an error nothing more comes, and what came before it is good: it is among the warnings
  /// already.
  virtual Result<std::size_t> read(std::span<char> into) = 0;
};

/// Something that is not read, or not whole; the rest goes on.
struct InputWarning {
  std::string file;      // as in InputFile::name
  std::string what;      // "is not readable: permission denied"
  std::string left_out;  // "all of it", "what follows byte 4096"
  /// It may have held what broke the run; not so a picture, a socket, a folder that is read anyway.
  bool may_matter = true;
};

/// Called for each stream, one after the other. What it leaves unread is passed over.
using InputVisitor = std::function<void(const InputFile&, InputReader&)>;
using InputWarningSink = std::function<void(InputWarning)>;

/// One file as it lies on disk, or standard input: one stream, or, of an archive, as many as it has
/// members.
class InputSource {
 public:
  virtual ~InputSource() = default;
  /// As it was when it was found.
  [[nodiscard]] virtual const InputFile& file() const = 0;
  /// Opens, reads and closes it; not called twice. Several sources may be visited at once, each by
  /// a thread of its own: then `visit` and `warn` are called from those threads.
  virtual void visit(const InputVisitor& visit, const InputWarningSink& warn) = 0;
};

struct InputListing {
  /// Each file once, in natural order of their names: rank2 before rank10.
  std::vector<std::unique_ptr<InputSource>> sources;
  std::vector<InputWarning> warnings;
};

class InputFinder {
 public:
  virtual ~InputFinder() = default;
  /// Lists what lies at and below `paths`; "-" is standard input. Opens no file.
  virtual InputListing find(const std::vector<std::string>& paths) = 0;
};

}  // namespace faultline
