// What a file is: any bytes are of some kind, and a mark of UTF-8 before them changes nothing but
// the encoding that is said. Input: the first bytes of the file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "ingest/content_kind.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace faultline;
  const std::string_view head(reinterpret_cast<const char*>(data), size);
  const Content content = content_of(head);
  FAULTLINE_CHECK(to_text(content.kind) != "invalid");
  FAULTLINE_CHECK(!head.empty() || content.kind == ContentKind::empty);
  if (content.encoding != TextEncoding::utf8 || size + 3 > content_head_bytes) return 0;
  const Content marked = content_of("\xEF\xBB\xBF" + std::string(head));
  FAULTLINE_CHECK(marked.encoding == TextEncoding::utf8_bom);
  FAULTLINE_CHECK(marked.kind == content.kind);
  return 0;
}
