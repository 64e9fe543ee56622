#include "ingest/value_tree.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

namespace faultline {

static_assert(sizeof(TreeValue) == 16 && std::is_trivially_copyable_v<TreeValue>);

TreeValue TreeValue::of_boolean(bool value) {
  TreeValue made(Kind::boolean);
  made.integer_ = value ? 1 : 0;
  return made;
}

TreeValue TreeValue::of_integer(std::int64_t value) {
  TreeValue made(Kind::integer);
  made.integer_ = value;
  return made;
}

TreeValue TreeValue::of_real(double value) {
  TreeValue made(Kind::real);
  made.real_ = value;
  return made;
}

TreeValue TreeValue::of_text(std::string_view text, Kind kind) {
  TreeValue made(kind);
  made.text_ = text.data();
  made.text_bytes_ = static_cast<std::uint32_t>(text.size());
  return made;
}

TreeValue TreeValue::of_container(Kind kind, ValueContainer& container) {
  TreeValue made(kind);
  made.container_ = &container;
  return made;
}

std::optional<double> TreeValue::real() const {
  if (kind_ == Kind::integer) return static_cast<double>(integer_);
  return kind_ == Kind::real ? std::optional(real_) : std::nullopt;
}

TreeValue TreeValue::find(std::string_view key) const {
  if (kind_ != Kind::dict) return {};
  const auto pairs = items();
  for (std::size_t i = pairs.size() / 2; i-- > 0;) {
    if (pairs[2 * i].kind() == Kind::text && pairs[2 * i].text() == key) return pairs[2 * i + 1];
  }
  return {};
}

std::size_t TreeValue::offset() const { return is_container() ? container_->offset : 0; }

Arena::Arena(std::size_t bytes_max, std::size_t bytes_expected)
    : bytes_left_(bytes_max), block_bytes_(std::max<std::size_t>(bytes_expected, 4096)) {}

void* Arena::allocate(std::size_t bytes) {
  constexpr std::size_t align = alignof(std::max_align_t);
  bytes = (std::max<std::size_t>(bytes, 1) + align - 1) / align * align;
  if (bytes > room_) {
    const std::size_t size = std::max(bytes, std::min(block_bytes_, bytes_left_));
    if (size > bytes_left_) return nullptr;
    bytes_left_ -= size;
    at_ = blocks_.emplace_back(new std::byte[size]).get();
    room_ = size;
  }
  void* given = at_;
  at_ += bytes;
  room_ -= bytes;
  return given;
}

// A flight recorder's dump makes about nine times its bytes.
TreeBuilder::TreeBuilder(std::size_t input_bytes, const TreeLimits& limits)
    : limits_(limits), arena_(limits.tree_bytes_max, 10 * input_bytes) {}

bool TreeBuilder::fail(std::string_view problem, bool exhausted) {
  problem_ = problem;
  exhausted_ = exhausted;
  return false;
}

ValueContainer* TreeBuilder::make_container(std::size_t offset) {
  void* room = arena_.allocate(sizeof(ValueContainer));
  if (room == nullptr) return fail("more values than the limit allows"), nullptr;
  auto* container = new (room) ValueContainer;
  container->offset = offset;
  container->number = containers_++;
  return container;
}

bool TreeBuilder::push_container(TreeValue::Kind kind, std::size_t offset) {
  ValueContainer* container = make_container(offset);
  return container != nullptr && push(TreeValue::of_container(kind, *container));
}

bool TreeBuilder::mark(std::size_t offset) {
  if (marks_.size() > limits_.depth_max) return fail("nested deeper than the limit allows");
  marks_.push_back({size(), offset});
  return true;
}

bool TreeBuilder::collect(TreeValue::Kind kind) {
  if (marks_.empty()) return fail("no mark before it", false);
  const Mark mark = marks_.back();
  const std::span<TreeValue> values = last(size() - mark.stack_size);
  if (kind == TreeValue::Kind::dict && values.size() % 2 != 0)
    return fail("a key without a value", false);
  ValueContainer* container = make_container(mark.offset);
  if (container == nullptr || !append(*container, values)) return false;
  pop_mark();
  return push(TreeValue::of_container(kind, *container));
}

bool TreeBuilder::collect_last(std::size_t count, std::size_t offset) {
  if (available() < count) return fail("too few values before it", false);
  ValueContainer* container = make_container(offset);
  if (container == nullptr || !append(*container, last(count))) return false;
  top_ -= count;
  return push(TreeValue::of_container(TreeValue::Kind::list, *container));
}

bool TreeBuilder::extend(TreeValue::Kind kind) {
  if (marks_.empty()) return fail("no mark before it", false);
  const std::size_t count = size() - marks_.back().stack_size;
  marks_.pop_back();
  return extend_last(kind, count);
}

bool TreeBuilder::extend_last(TreeValue::Kind kind, std::size_t count) {
  if (available() < count + 1) return fail("too few values before it", false);
  const std::span<TreeValue> values = last(count);
  const TreeValue& into = *(top_ - count - 1);
  if (into.kind() != kind) return fail("no container of its kind before it", false);
  if (kind == TreeValue::Kind::dict && count % 2 != 0) return fail("a key without a value", false);
  if (!append(*into.container_, values)) return false;
  top_ -= count;
  return true;
}

bool TreeBuilder::grow() {
  constexpr std::size_t first_values = 256;
  const std::size_t used = size();
  if (used >= limits_.stack_values_max) return fail("more values than fit at once");
  stack_.resize(std::min(limits_.stack_values_max, std::max(first_values, 2 * used)));
  top_ = stack_.data() + used;
  room_end_ = stack_.data() + stack_.size();
  return true;
}

bool TreeBuilder::append(ValueContainer& container, std::span<TreeValue> values) {
  if (values.empty()) return true;
  if (!reserve(container, container.size + values.size())) return false;
  std::uninitialized_copy(values.begin(), values.end(), container.items + container.size);
  for (const TreeValue& value : values) {
    if (!value.is_container()) continue;
    ValueContainer& part = *value.container_;
    part.placed = true;
    container.depth = std::max(container.depth, static_cast<std::uint16_t>(part.depth + 1));
  }
  // It may have been placed just now, in itself.
  if (container.placed)
    return fail("a container that changes after it was placed in another", false);
  if (container.depth > limits_.depth_max) return fail("nested deeper than the limit allows");
  container.size += static_cast<std::uint32_t>(values.size());
  return true;
}

bool TreeBuilder::reserve(ValueContainer& container, std::size_t size) {
  if (size <= container.capacity) return true;
  // Most are filled by one call: exactly that. What grows step by step doubles.
  const std::size_t capacity = container.size == 0 ? size : std::max(size, 2UL * container.size);
  void* room = arena_.allocate(capacity * sizeof(TreeValue));
  if (room == nullptr || capacity > std::numeric_limits<std::uint32_t>::max())
    return fail("more values than the limit allows");
  // Values are as good as bytes: what is not yet there is not written either.
  auto* items = static_cast<TreeValue*>(room);
  std::uninitialized_copy_n(container.items, container.size, items);
  container.items = items;
  container.capacity = static_cast<std::uint32_t>(capacity);
  return true;
}

bool TreeBuilder::pop() {
  if (available() == 0) return pop_mark();
  --top_;
  return true;
}

bool TreeBuilder::pop_mark() {
  if (marks_.empty()) return fail("nothing before it", false);
  top_ = stack_.data() + marks_.back().stack_size;
  marks_.pop_back();
  return true;
}

bool TreeBuilder::duplicate() {
  if (available() == 0) return fail("nothing before it", false);
  return push(TreeValue(*(top_ - 1)));
}

char* TreeBuilder::room_for_text(std::size_t bytes) {
  void* room = arena_.allocate(bytes);
  if (room == nullptr) fail("more text than the limit allows");
  return static_cast<char*>(room);
}

ValueTree TreeBuilder::finish() {
  const TreeValue root = available() == 0 ? TreeValue() : *(top_ - 1);
  return {std::move(arena_), root, containers_};
}

}  // namespace faultline
