#include "adapters/files/archive_stream.h"

#include <fmt/format.h>
#include <locale.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace faultline {
namespace {

constexpr std::size_t packed_block_bytes = 256 * 1024;

/// libarchive loses names that the locale cannot spell. Of this thread alone, while it lives.
class Utf8Locale {
 public:
  Utf8Locale() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (utf8 != nullptr) before_ = ::uselocale(utf8);
  }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;
  ~Utf8Locale() {
    if (before_ != nullptr) ::uselocale(before_);
  }

 private:
  locale_t before_ = nullptr;
};

}  // namespace

ArchiveStream::ArchiveStream(InputReader& source, Packing packing, const std::string& name,
                             Reading& reading)
    : source_(source),
      name_(name),
      reading_(reading),
      library_(archive_library()),
      packed_(packed_block_bytes) {
  open(packing);
}

ArchiveStream::~ArchiveStream() {
  if (handle_ != nullptr) library_.read_free(handle_);
}

void ArchiveStream::open(Packing packing) {
  const auto give_up = [&](const std::string& what) {
    reading_.note(name_, what, "all of it");
    ended_ = failed_ = true;
  };
  if (!library_.loaded())
    return give_up("is packed, and libarchive is not installed (libarchive13)");
  handle_ = library_.read_new();
  if (handle_ == nullptr) return give_up("cannot be unpacked: no memory");
  if (!support(packing)) return give_up("is packed in a way that this libarchive does not know");
  if (library_.read_open(handle_, this, nullptr, &ArchiveStream::give, nullptr) == ARCHIVE_OK)
    return;
  if (!source_error_) return give_up(fmt::format("cannot be unpacked: {}", problem()));
  ended_ = failed_ = true;
}

/// The formats of the field, one at a time, so that nothing else is guessed. ARCHIVE_WARN would
/// mean that libarchive starts a program to unpack it.
bool ArchiveStream::support(Packing packing) {
  const auto compressed = [&](auto filter) {
    return filter(handle_) == ARCHIVE_OK && library_.format_raw(handle_) == ARCHIVE_OK &&
           library_.format_empty(handle_) == ARCHIVE_OK;
  };
  switch (packing) {
    case Packing::zstd: return compressed(library_.filter_zstd);
    case Packing::xz: return compressed(library_.filter_xz);
    case Packing::bzip2: return compressed(library_.filter_bzip2);
    case Packing::tar: return library_.format_tar(handle_) == ARCHIVE_OK;
    case Packing::zip: return library_.format_zip_streamable(handle_) == ARCHIVE_OK;
    case Packing::gzip:
    case Packing::none: break;
  }
  return false;
}

la_ssize_t ArchiveStream::give(archive* handle, void* self, const void** block) {
  auto& stream = *static_cast<ArchiveStream*>(self);
  const auto got = stream.source_.read(stream.packed_);
  if (!got.ok()) {
    stream.source_error_ = got.error();
    stream.library_.set_error(handle, EIO, "%s", "what it lies in cannot be read");
    return ARCHIVE_FATAL;
  }
  *block = stream.packed_.data();
  return static_cast<la_ssize_t>(*got);
}

bool ArchiveStream::next() {
  if (ended_) return false;
  block_ = {};
  block_offset_ = member_offset_ = 0;
  const Utf8Locale locale;
  const int code = library_.read_next_header(handle_, &member_);
  const bool good = code == ARCHIVE_OK || code == ARCHIVE_WARN;
  ended_ = !good;
  failed_ = !good && code != ARCHIVE_EOF;
  if (failed_ && !source_error_)
    reading_.note(name_, fmt::format("is damaged: {}", problem()), "what follows in it");
  return good;
}

std::string ArchiveStream::member_name() const {
  const Utf8Locale locale;
  if (const char* name = library_.entry_pathname_utf8(member_); name != nullptr) return name;
  const char* name = library_.entry_pathname(member_);
  return name != nullptr ? name : "(a member without a name)";
}

Instant ArchiveStream::member_modified() const {
  constexpr auto seconds_max = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
  if (library_.entry_mtime_is_set(member_) == 0) return {};
  const auto seconds = static_cast<std::int64_t>(library_.entry_mtime(member_));
  if (seconds < 0 || seconds > seconds_max) return {};
  return Instant{std::chrono::seconds{seconds}};
}

std::uint64_t ArchiveStream::member_bytes() const {
  if (library_.entry_size_is_set(member_) == 0) return 0;
  return static_cast<std::uint64_t>(std::max<la_int64_t>(library_.entry_size(member_), 0));
}

bool ArchiveStream::member_is_file() const {
  return library_.entry_filetype(member_) == AE_IFREG &&
         library_.entry_hardlink(member_) == nullptr;
}

bool ArchiveStream::member_is_folder() const {
  return library_.entry_filetype(member_) == AE_IFDIR;
}

bool ArchiveStream::member_is_encrypted() const {
  return library_.entry_is_data_encrypted(member_) != 0;
}

la_ssize_t ArchiveStream::read_member(std::span<char> into) {
  while (!ended_ && block_.empty()) {
    const int code = next_block();
    if (code != ARCHIVE_OK) return code == ARCHIVE_EOF ? 0 : code;
  }
  const std::uint64_t hole = block_offset_ - member_offset_;
  const std::size_t bytes = std::min<std::uint64_t>(into.size(), hole > 0 ? hole : block_.size());
  if (hole > 0) {
    std::fill_n(into.data(), bytes, '\0');
  } else {
    std::copy_n(block_.data(), bytes, into.data());
    block_ = block_.subspan(bytes);
    block_offset_ += bytes;
  }
  member_offset_ += bytes;
  return static_cast<la_ssize_t>(bytes);
}

int ArchiveStream::next_block() {
  const void* data = nullptr;
  std::size_t bytes = 0;
  la_int64_t offset = 0;
  int code = library_.read_data_block(handle_, &data, &bytes, &offset);
  if (code == ARCHIVE_OK && static_cast<std::uint64_t>(offset) < member_offset_) {
    library_.set_error(handle_, EINVAL, "%s", "its parts are out of order");
    code = ARCHIVE_FATAL;
  }
  broke_off_ = code == ARCHIVE_FATAL;
  ended_ = broke_off_;
  if (code != ARCHIVE_OK) return code;
  block_ = {static_cast<const char*>(data), bytes};
  block_offset_ = static_cast<std::uint64_t>(offset);
  return code;
}

std::string ArchiveStream::problem() const {
  const char* words = library_.error_string(handle_);
  return words != nullptr ? words : "libarchive does not say how";
}

std::size_t MemberReader::unpack(std::span<char> into) {
  const la_ssize_t got = archive_.read_member(into);
  if (got >= 0) return static_cast<std::size_t>(got);
  if (archive_.source_error()) {
    source_failed(*archive_.source_error());
  } else {
    damaged(fmt::format("is damaged: {}", archive_.problem()));
  }
  return 0;
}

}  // namespace faultline
