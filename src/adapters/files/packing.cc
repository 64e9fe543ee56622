#include "adapters/files/packing.h"

#include <algorithm>
#include <cstdint>

namespace faultline {
namespace {

using namespace std::string_view_literals;

bool is_bzip2(std::string_view head) {
  if (head.size() < 10 || !head.starts_with("BZh") || head[3] < '1' || head[3] > '9') return false;
  const auto block = head.substr(4, 6);
  return block == "\x31\x41\x59\x26\x53\x59"sv || block == "\x17\x72\x45\x38\x50\x90"sv;
}

/// The number of a tar header's field: octal digits, spaces around them.
std::uint32_t octal(std::string_view field) {
  std::uint32_t value = 0;
  for (const char c : field) {
    if (c >= '0' && c <= '7') value = value * 8 + static_cast<std::uint32_t>(c - '0');
  }
  return value;
}

/// Older tars have no magic, but all have a checksum of the header, its own field read as spaces.
bool is_tar(std::string_view head) {
  constexpr std::size_t field_at = 148;
  constexpr std::size_t field_bytes = 8;
  if (head.size() < packing_head_bytes) return false;
  std::uint32_t sum = field_bytes * ' ';
  for (std::size_t i = 0; i < packing_head_bytes; ++i) {
    if (i < field_at || i >= field_at + field_bytes) sum += static_cast<unsigned char>(head[i]);
  }
  return sum == octal(head.substr(field_at, field_bytes));
}

bool is_checkpoint(std::string_view zip) {
  constexpr std::size_t name_length_at = 26;
  constexpr std::size_t name_at = 30;
  if (zip.size() <= name_at) return false;
  const auto length = static_cast<unsigned char>(zip[name_length_at]) +
                      256U * static_cast<unsigned char>(zip[name_length_at + 1]);
  return zip.substr(name_at, length).ends_with("/data.pkl");
}

}  // namespace

Packing packing_of(std::string_view head) {
  if (head.starts_with("\x1f\x8b\x08"sv)) return Packing::gzip;
  if (head.starts_with("\x28\xb5\x2f\xfd"sv)) return Packing::zstd;
  if (head.starts_with("\xfd\x37zXZ\0"sv)) return Packing::xz;
  if (is_bzip2(head)) return Packing::bzip2;
  if (head.starts_with("PK\3\4"sv)) return is_checkpoint(head) ? Packing::none : Packing::zip;
  if (head.starts_with("PK\5\6"sv)) return Packing::zip;  // an empty one
  return is_tar(head) ? Packing::tar : Packing::none;
}

}  // namespace faultline
