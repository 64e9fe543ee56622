// ValueTree: what a file of plain data says (pickle, JSON), as read-only values in one piece of
// memory. A value is 16 bytes; text lies in the bytes that were read where it can.
//
// A container that lies in another no longer changes. So no value is reachable from itself, and how
// deep a container goes is known when it is placed. One container may still lie in many places, and
// the paths through such a tree can be exponentially many: who walks it limits what it visits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace faultline {

/// What one file may cost. The largest flight recorder in use (some 50,000 operations, each with
/// its stack) needs half of it.
struct TreeLimits {
  std::size_t input_bytes_max = 512U << 20U;
  std::size_t tree_bytes_max = 128U << 20U;
  std::size_t stack_values_max = 1U << 20U;  // read and not yet placed: as long as the longest list
  std::size_t memo_entries_max = 2U << 20U;
  std::size_t text_bytes_max = 16U << 20U;  // of one text
  std::size_t depth_max = 64;
};

struct ValueContainer;

class TreeValue {
 public:
  enum class Kind : std::uint8_t {
    absent,  // there is no such key
    none,
    boolean,
    integer,
    big_integer,  // does not fit into 64 bits
    real,
    text,
    bytes,
    list,  // also tuples and sets
    dict
  };

  TreeValue() = default;
  static TreeValue of_none() { return TreeValue(Kind::none); }
  static TreeValue of_boolean(bool value);
  static TreeValue of_integer(std::int64_t value);
  static TreeValue of_real(double value);
  /// `kind` is text, bytes or big_integer. The bytes must outlive the value.
  static TreeValue of_text(std::string_view text, Kind kind = Kind::text);
  static TreeValue of_container(Kind kind, ValueContainer& container);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_container() const { return kind_ == Kind::list || kind_ == Kind::dict; }
  /// Of an integer or a boolean.
  [[nodiscard]] std::optional<std::int64_t> integer() const {
    if (kind_ != Kind::integer && kind_ != Kind::boolean) return std::nullopt;
    return integer_;
  }
  [[nodiscard]] std::optional<double> real() const;
  /// "" of what is no text.
  [[nodiscard]] std::string_view text() const {
    return kind_ == Kind::text ? std::string_view(text_, text_bytes_) : std::string_view{};
  }
  /// Of a dict: key, value, key, value. Empty of what is no container.
  [[nodiscard]] inline std::span<const TreeValue> items() const;
  /// The value of a key that is text; the last one if it is there twice, as in Python.
  [[nodiscard]] TreeValue find(std::string_view key) const;
  /// Where a container begins in the bytes that were read; 0 of others.
  [[nodiscard]] std::size_t offset() const;
  /// A container's number in its tree, counted from 0; the same wherever it lies.
  [[nodiscard]] inline std::uint32_t number() const;

 private:
  friend class TreeBuilder;
  explicit TreeValue(Kind kind) : kind_(kind) {}

  union {
    std::int64_t integer_ = 0;
    double real_;
    const char* text_;
    ValueContainer* container_;
  };
  std::uint32_t text_bytes_ = 0;
  Kind kind_ = Kind::absent;
};

struct ValueContainer {
  TreeValue* items = nullptr;
  std::size_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t capacity = 0;
  std::uint32_t number = 0;
  std::uint16_t depth = 1;  // of what lies in it, itself counted
  bool placed = false;      // lies in another: it no longer changes
};

inline std::uint32_t TreeValue::number() const { return is_container() ? container_->number : 0; }

inline std::span<const TreeValue> TreeValue::items() const {
  if (!is_container()) return {};
  return {container_->items, container_->size};
}

/// Memory that is given back all at once.
class Arena {
 public:
  /// `bytes_expected` come in one piece: what is not touched of it costs nothing.
  explicit Arena(std::size_t bytes_max = 0, std::size_t bytes_expected = 0);

  /// Aligned for any value; nullptr if the limit is reached.
  void* allocate(std::size_t bytes);

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::size_t bytes_left_;
  std::size_t block_bytes_ = 0;
  std::byte* at_ = nullptr;
  std::size_t room_ = 0;
};

/// Its values are good for as long as it, and the bytes it was read from, exist.
class ValueTree {
 public:
  ValueTree() = default;
  ValueTree(Arena arena, TreeValue root, std::uint32_t containers)
      : arena_(std::move(arena)), root_(root), containers_(containers) {}

  [[nodiscard]] const TreeValue& root() const { return root_; }
  /// TreeValue::number() is below it.
  [[nodiscard]] std::uint32_t containers() const { return containers_; }

 private:
  Arena arena_;
  TreeValue root_;
  std::uint32_t containers_ = 0;
};

/// A stack machine that makes a tree: values are pushed, and what was pushed since a mark becomes a
/// container or goes into one. Its methods are false when that cannot be; problem() says why.
class TreeBuilder {
 public:
  TreeBuilder(std::size_t input_bytes, const TreeLimits& limits);
  TreeBuilder(const TreeBuilder&) = delete;
  TreeBuilder& operator=(const TreeBuilder&) = delete;

  bool push(const TreeValue& value) {
    if (top_ == room_end_ && !grow()) return false;
    *top_++ = value;
    return true;
  }
  bool push_container(TreeValue::Kind kind, std::size_t offset);
  bool mark(std::size_t offset);

  /// The values since the last mark become a container, which begins where the mark is.
  bool collect(TreeValue::Kind kind);
  /// The last `count` values become a list.
  bool collect_last(std::size_t count, std::size_t offset);
  /// The values since the last mark go into the container before it.
  bool extend(TreeValue::Kind kind);
  /// The last `count` values go into the container before them.
  bool extend_last(TreeValue::Kind kind, std::size_t count);

  bool pop();
  bool pop_mark();
  bool duplicate();
  /// nullptr if nothing was pushed since the last mark.
  [[nodiscard]] const TreeValue* top() const { return available() == 0 ? nullptr : top_ - 1; }

  /// A copy that lives as long as the tree; nullptr if there is no more room.
  char* room_for_text(std::size_t bytes);

  /// Why the last call failed; it exhausts a limit, or contradicts the format.
  [[nodiscard]] std::string_view problem() const { return problem_; }
  [[nodiscard]] bool exhausted() const { return exhausted_; }
  bool fail(std::string_view problem, bool exhausted = true);

  /// The top value as a tree; the builder is spent.
  ValueTree finish();

 private:
  struct Mark {
    std::size_t stack_size, offset;
  };

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(top_ - stack_.data()); }
  [[nodiscard]] std::size_t available() const {
    return size() - (marks_.empty() ? 0 : marks_.back().stack_size);
  }
  bool grow();
  ValueContainer* make_container(std::size_t offset);
  [[nodiscard]] std::span<TreeValue> last(std::size_t count) { return {top_ - count, count}; }
  bool append(ValueContainer& container, std::span<TreeValue> values);
  bool reserve(ValueContainer& container, std::size_t size);

  TreeLimits limits_;
  Arena arena_;
  std::vector<TreeValue> stack_;  // room for values; those that are there end at top_
  TreeValue* top_ = nullptr;
  TreeValue* room_end_ = nullptr;
  std::vector<Mark> marks_;
  std::uint32_t containers_ = 0;
  std::string_view problem_;
  bool exhausted_ = false;
};

}  // namespace faultline
