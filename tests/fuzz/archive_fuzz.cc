// Packed streams: whatever bytes come, each stream they unpack to ends, none is longer than the
// limits say, and no trouble goes unnamed. Input: first byte the size of the blocks in which it is
// read, the rest the file.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/files/unpack.h"
#include "base/check.h"
#include "base/text.h"

namespace {

using namespace faultline;

constexpr std::uint64_t source_bytes_max = 4 << 20;
constexpr std::uint64_t member_bytes_max = 1 << 20;

class BytesReader final : public InputReader {
 public:
  BytesReader(std::string_view bytes, Reading& reading) : bytes_(bytes), reading_(reading) {}
  Result<std::size_t> read(std::span<char> into) override {
    const std::size_t got = std::min(into.size(), bytes_.size());
    std::copy_n(bytes_.data(), got, into.data());
    bytes_.remove_prefix(got);
    reading_.add_packed(got);
    return got;
  }

 private:
  std::string_view bytes_;
  Reading& reading_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<char> block(1 + data[0]);
  std::uint64_t warnings = 0;
  const InputWarningSink warn = [&](const InputWarning& warning) {
    ++warnings;
    FAULTLINE_CHECK(!warning.file.empty() && !warning.left_out.empty());
    FAULTLINE_CHECK(printable(warning.what, warning.what.size()) == warning.what);
  };
  UnpackLimits limits;
  limits.source_bytes_max = source_bytes_max;
  limits.member_bytes_max = member_bytes_max;
  limits.members_max = 100;
  Reading reading(limits, warn);
  BytesReader bytes({reinterpret_cast<const char*>(data) + 1, size - 1}, reading);
  unpack(bytes, {"file", {}, 0, false}, reading, [&](const InputFile& file, InputReader& reader) {
    FAULTLINE_CHECK(printable(file.name, file.name.size()) == file.name);
    std::uint64_t seen = 0;
    auto got = reader.read(block);
    for (; got.ok() && *got > 0; got = reader.read(block)) seen += *got;
    FAULTLINE_CHECK(!file.packed || seen <= member_bytes_max);
    FAULTLINE_CHECK(got.ok() || warnings > 0);  // it may be named before the visit
    FAULTLINE_CHECK(reader.read(block).ok() == got.ok());
  });
  return 0;
}
