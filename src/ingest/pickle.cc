#include "ingest/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/text.h"
#include "ingest/pickle_text.h"

namespace faultline {
namespace {

using Kind = TreeValue::Kind;

struct Refused {
  unsigned char opcode;
  std::string_view name, deed;
};
constexpr auto refused = std::to_array<Refused>({{'c', "GLOBAL", "import"},
                                                 {0x93, "STACK_GLOBAL", "import"},
                                                 {'R', "REDUCE", "call a function"},
                                                 {'b', "BUILD", "change an object"},
                                                 {'i', "INST", "make an object"},
                                                 {'o', "OBJ", "make an object"},
                                                 {0x81, "NEWOBJ", "make an object"},
                                                 {0x92, "NEWOBJ_EX", "make an object"},
                                                 {'P', "PERSID", "load from elsewhere"},
                                                 {'Q', "BINPERSID", "load from elsewhere"},
                                                 {0x82, "EXT1", "import"},
                                                 {0x83, "EXT2", "import"},
                                                 {0x84, "EXT4", "import"},
                                                 {0x97, "NEXT_BUFFER", "load from elsewhere"},
                                                 {0x98, "READONLY_BUFFER", "load from elsewhere"}});

constexpr int protocol_max = 5;

class Unpickler {
 public:
  Unpickler(std::string_view bytes, const TreeLimits& limits)
      : limits_(limits),
        begin_(bytes.data()),
        at_(begin_),
        end_(begin_ + bytes.size()),
        builder_(bytes.size(), limits) {}

  Result<ValueTree> run() {
    while (!stopped_) {
      opcode_at_ = at_;
      if (at_ == end_) {
        cut();
      } else if (step(static_cast<unsigned char>(*at_++))) {
        continue;
      }
      return error_ ? *error_ : problem_of_builder();
    }
    return builder_.finish();
  }

 private:
  [[nodiscard]] std::size_t offset() const { return static_cast<std::size_t>(opcode_at_ - begin_); }
  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  bool fail(ErrorCode code, std::string message) {
    error_ = Error{code, "pickle: " + message + " at byte " + std::to_string(offset())};
    return false;
  }
  bool cut() { return fail(ErrorCode::corrupt, "it ends in the middle"); }
  bool corrupt(std::string_view what) { return fail(ErrorCode::corrupt, std::string(what)); }
  Error problem_of_builder() {
    fail(builder_.exhausted() ? ErrorCode::exhausted : ErrorCode::corrupt,
         std::string(builder_.problem()));
    return *error_;
  }

  // What a pickle is made of most comes first: the memo that lets a text or a container be written
  // once, small numbers, and containers.
  bool step(unsigned char opcode) {
    switch (opcode) {
      case 'h': return get_numbered<std::uint8_t>();
      case 'q': return put_numbered<std::uint8_t>();
      case 'j': return get_numbered<std::uint32_t>();
      case 'r': return put_numbered<std::uint32_t>();
      case 'K': return integer<std::uint8_t>();
      case 'M': return integer<std::uint16_t>();
      case 'J': return integer<std::int32_t>();
      case 'X': return with_size<std::uint32_t>([this](auto in) { return push(in, Kind::text); });
      case 0x94: return put(memoized_);
      case 'g': return with_line([this](auto line) { return with_number(line, &Unpickler::get); });
      case 'p': return with_line([this](auto line) { return with_number(line, &Unpickler::put); });
      case '}': return builder_.push_container(Kind::dict, offset());
      case ']':
      case ')':
      case 0x8f: return builder_.push_container(Kind::list, offset());
      case '(': return builder_.mark(offset());
      case 'a': return builder_.extend_last(Kind::list, 1);
      case 's': return builder_.extend_last(Kind::dict, 2);
      case 'e':
      case 0x90: return builder_.extend(Kind::list);
      case 'u': return builder_.extend(Kind::dict);
      case 't':
      case 'l':
      case 0x91: return builder_.collect(Kind::list);
      case 'd': return builder_.collect(Kind::dict);
      case 0x85:
      case 0x86:
      case 0x87: return builder_.collect_last(opcode - 0x84U, offset());
      case '0': return builder_.pop();
      case '1': return builder_.pop_mark();
      case '2': return builder_.duplicate();
      case 0x80: return protocol();
      case 0x95: return frame();
      case '.': return stop();
      default: return number(opcode);
    }
  }

  bool number(unsigned char opcode) {
    switch (opcode) {
      case 'N': return builder_.push(TreeValue::of_none());
      case 0x88: return builder_.push(TreeValue::of_boolean(true));
      case 0x89: return builder_.push(TreeValue::of_boolean(false));
      case 0x8a: return with_size<std::uint8_t>([this](auto bytes) { return big_integer(bytes); });
      case 0x8b: return with_size<std::uint32_t>([this](auto bytes) { return big_integer(bytes); });
      case 'I':
      case 'L': return with_line([this](auto line) { return printed_integer(line); });
      case 'G': return real();
      case 'F': return with_line([this](auto line) { return printed_real(line); });
      default: return text(opcode);
    }
  }

  bool text(unsigned char opcode) {
    const auto push_text = [this](auto bytes) { return push(bytes, Kind::text); };
    const auto push_bytes = [this](auto bytes) { return push(bytes, Kind::bytes); };
    switch (opcode) {
      case 'T': return with_size<std::uint32_t>(push_text);
      case 'U':
      case 0x8c: return with_size<std::uint8_t>(push_text);
      case 0x8d: return with_size<std::uint64_t>(push_text);
      case 'B': return with_size<std::uint32_t>(push_bytes);
      case 'C': return with_size<std::uint8_t>(push_bytes);
      case 0x8e:
      case 0x96: return with_size<std::uint64_t>(push_bytes);
      case 'S': return with_line([this](auto line) { return printed_string(line); });
      case 'V': return with_line([this](auto line) { return printed_unicode(line); });
      default: return refuse(opcode);
    }
  }

  bool refuse(unsigned char opcode) {
    const auto* known = std::find_if(refused.begin(), refused.end(),
                                     [&](const Refused& entry) { return entry.opcode == opcode; });
    if (known == refused.end()) return corrupt("no opcode " + std::to_string(opcode));
    return fail(ErrorCode::invalid_argument, "it wants to " + std::string(known->deed) + " (" +
                                                 std::string(known->name) +
                                                 "), and only plain data is read;");
  }

  // --- what stands behind an opcode ---

  /// Little-endian.
  template <class Number>
  bool read(Number& out) {
    if (left() < sizeof(Number)) return cut();
    std::make_unsigned_t<Number> value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      value = static_cast<decltype(value)>(
          value | static_cast<decltype(value)>(static_cast<unsigned char>(at_[i])) << (8 * i));
    }
    out = static_cast<Number>(value);
    at_ += sizeof(Number);
    return true;
  }

  /// Bytes behind their number.
  template <class Size, class Use>
  bool with_size(Use use) {
    Size size{};
    if (!read(size)) return false;
    if (size > left()) return cut();
    if (size > limits_.text_bytes_max)
      return fail(ErrorCode::exhausted, "a text of " + std::to_string(size) + " bytes");
    const std::string_view bytes(at_, static_cast<std::size_t>(size));
    at_ += size;
    return use(bytes);
  }

  /// Bytes up to the end of the line.
  template <class Use>
  bool with_line(Use use) {
    const void* end = left() == 0 ? nullptr : std::memchr(at_, '\n', left());
    if (end == nullptr) return cut();
    const std::string_view line(at_, static_cast<const char*>(end));
    if (line.size() > limits_.text_bytes_max)
      return fail(ErrorCode::exhausted, "a text of " + std::to_string(line.size()) + " bytes");
    at_ += line.size() + 1;
    return use(line);
  }

  bool with_number(std::string_view line, bool (Unpickler::*use)(std::size_t)) {
    const auto index = parse_number<std::size_t>(line);
    return index ? (this->*use)(*index) : corrupt("no number where one belongs");
  }

  bool push(std::string_view bytes, Kind kind) {
    return builder_.push(TreeValue::of_text(bytes, kind));
  }
  /// Text that does not stand in the bytes as it is.
  bool push_copy(const std::string& text) {
    char* room = builder_.room_for_text(text.size());
    if (room == nullptr) return false;
    std::copy(text.begin(), text.end(), room);
    return push({room, text.size()}, Kind::text);
  }

  // --- memo ---

  bool get(std::size_t index) {
    if (index >= memo_.size() || memo_.data()[index].kind() == Kind::absent)
      return corrupt("nothing was remembered as " + std::to_string(index));
    return builder_.push(memo_.data()[index]);
  }
  bool put(std::size_t index) {
    const TreeValue* top = builder_.top();
    if (top == nullptr) return corrupt("nothing to remember");
    if (index >= limits_.memo_entries_max)
      return fail(ErrorCode::exhausted, "more is remembered than the limit allows");
    if (index >= memo_.size()) memo_.resize(index + 1);
    if (memo_[index].kind() == Kind::absent) ++memoized_;
    memo_[index] = *top;
    return true;
  }
  template <class Index>
  bool get_numbered() {
    Index index{};
    return read(index) && get(index);
  }
  template <class Index>
  bool put_numbered() {
    Index index{};
    return read(index) && put(index);
  }

  // --- numbers ---

  template <class Number>
  bool integer() {
    Number value{};
    return read(value) && builder_.push(TreeValue::of_integer(value));
  }
  /// Little-endian two's complement of any length.
  bool big_integer(std::string_view bytes) {
    if (bytes.size() > sizeof(std::int64_t)) return push(bytes, Kind::big_integer);
    std::uint64_t value = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~0ULL : 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
      value = (value << 8U) | static_cast<unsigned char>(bytes[i]);
    return builder_.push(TreeValue::of_integer(static_cast<std::int64_t>(value)));
  }
  bool printed_integer(std::string_view line) {
    if (line == "00" || line == "01") return builder_.push(TreeValue::of_boolean(line == "01"));
    std::string_view digits = line;
    if (digits.ends_with('L')) digits.remove_suffix(1);
    if (const auto value = parse_number<std::int64_t>(digits))
      return builder_.push(TreeValue::of_integer(*value));
    const std::string_view bare = digits.starts_with('-') ? digits.substr(1) : digits;
    if (bare.empty() || bare.find_first_not_of("0123456789") != std::string_view::npos)
      return corrupt("no number where one belongs");
    return push(digits, Kind::big_integer);
  }
  /// Big-endian, unlike everything else.
  bool real() {
    std::uint64_t bits = 0;
    if (left() < sizeof bits) return cut();
    for (std::size_t i = 0; i < sizeof bits; ++i)
      bits = (bits << 8U) | static_cast<unsigned char>(*at_++);
    return builder_.push(TreeValue::of_real(std::bit_cast<double>(bits)));
  }
  bool printed_real(std::string_view line) {
    const auto value = parse_number<double>(line);
    return value ? builder_.push(TreeValue::of_real(*value))
                 : corrupt("no number where one belongs");
  }

  // --- text of protocol 0 ---

  bool printed_string(std::string_view line) {
    const auto inner = unquoted(line);
    if (!inner) return corrupt("a string without quotes");
    if (inner->find('\\') == std::string_view::npos) return push(*inner, Kind::text);
    return push_copy(without_string_escapes(*inner));
  }
  bool printed_unicode(std::string_view line) {
    const bool plain = std::all_of(line.begin(), line.end(), [](char c) {
      return c != '\\' && static_cast<unsigned char>(c) < 0x80;
    });
    return plain ? push(line, Kind::text) : push_copy(without_unicode_escapes(line));
  }

  // --- the frame of it all ---

  bool protocol() {
    std::uint8_t version = 0;
    if (!read(version)) return false;
    if (version > protocol_max) return corrupt("protocol " + std::to_string(version));
    return true;
  }
  /// A hint for readers that buffer; that it ends in time is all that matters here.
  bool frame() {
    std::uint64_t size = 0;
    return read(size) && (size <= left() || cut());
  }
  bool stop() {
    if (builder_.top() == nullptr) return corrupt("it ends without a value");
    stopped_ = true;
    return true;
  }

  TreeLimits limits_;
  const char* begin_;
  const char* at_;
  const char* end_;
  const char* opcode_at_ = nullptr;
  TreeBuilder builder_;
  std::vector<TreeValue> memo_;
  std::size_t memoized_ = 0;  // protocol 4 numbers what it remembers by how much there is
  std::optional<Error> error_;
  bool stopped_ = false;
};

}  // namespace

Result<ValueTree> read_pickle(std::string_view bytes, const TreeLimits& limits) {
  if (bytes.size() > limits.input_bytes_max)
    return Error{ErrorCode::exhausted, "pickle: " + std::to_string(bytes.size()) +
                                           " bytes are more than the limit of " +
                                           std::to_string(limits.input_bytes_max)};
  return Unpickler(bytes, limits).run();
}

}  // namespace faultline
