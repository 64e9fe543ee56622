// Any bytes as a pickle: refused, or a tree that a limited walk gets through, which lies in the
// bytes and their own memory alone, and says the same when it is read again.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "ingest/pickle.h"
#include "tests/fixtures/tree_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace faultline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TreeLimits limits;
  limits.tree_bytes_max = 4U << 20U;
  limits.memo_entries_max = 1U << 16U;
  const auto tree = read_pickle(bytes, limits);
  if (!tree) {
    FAULTLINE_CHECK(tree.error().code == ErrorCode::corrupt ||
                    tree.error().code == ErrorCode::exhausted ||
                    tree.error().code == ErrorCode::invalid_argument);
    FAULTLINE_CHECK(!tree.error().message.empty());
    return 0;
  }
  const auto again = read_pickle(bytes, limits);
  FAULTLINE_CHECK(again.ok());
  FAULTLINE_CHECK(TreeText::of(tree->root()) == TreeText::of(again->root()));
  // Whatever ends in the middle is no pickle.
  const std::vector<char> cut(bytes.begin(), bytes.end());
  static_cast<void>(read_pickle({cut.data(), cut.size() / 2}, limits));
  return 0;
}
