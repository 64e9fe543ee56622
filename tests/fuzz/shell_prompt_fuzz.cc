// What was copied from a terminal: whatever it holds, its parts lie in it in order, none is blank,
// none holds a prompt, and every host is a valid name. Input: the text.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "ingest/shell_prompt.h"
#include "model/names.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace faultline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::uint64_t end = 0;
  for (const SessionPart& part : session_parts(text)) {
    FAULTLINE_CHECK(part.offset >= end);
    FAULTLINE_CHECK(text.substr(part.offset).starts_with(part.text));
    FAULTLINE_CHECK(!trim(part.text).empty());
    FAULTLINE_CHECK(part.host.empty() || valid_node_name(part.host));
    for (std::string_view line : split(part.text, '\n')) {
      while (line.ends_with('\r')) line.remove_suffix(1);
      FAULTLINE_CHECK(!shell_prompt(line));
    }
    end = part.offset + part.text.size();
  }
  return 0;
}
