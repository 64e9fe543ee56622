#include "ingest/line_filter.h"

#include <hs/hs.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace faultline {
namespace {

struct Collector {
  std::string_view text;
  std::vector<LineFilter::Span>& lines;

  static int on_match(unsigned, unsigned long long, unsigned long long to, unsigned,
                      void* context) {
    auto& self = *static_cast<Collector*>(context);
    const auto at = static_cast<std::size_t>(to) - (to > 0 ? 1 : 0);
    // A pattern that goes on matching is reported for every byte.
    if (!self.lines.empty() && at >= self.lines.back().begin && at < self.lines.back().end)
      return 0;
    const auto before = at == 0 ? std::string_view::npos : self.text.rfind('\n', at - 1);
    const auto after = self.text.find('\n', at);
    self.lines.push_back({before == std::string_view::npos ? 0 : before + 1,
                          after == std::string_view::npos ? self.text.size() : after + 1});
    return 0;
  }
};

}  // namespace

std::string without_anchors(std::string_view pattern) {
  std::string out;
  bool in_brackets = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      out += c;
      out += pattern[++i];
      continue;
    }
    if (c == '[' && !in_brackets) {
      in_brackets = true;
      out += c;
      // "[^...]" and "[]...]": these belong to the brackets.
      if (i + 1 < pattern.size() && pattern[i + 1] == '^') out += pattern[++i];
      if (i + 1 < pattern.size() && pattern[i + 1] == ']') out += pattern[++i];
      continue;
    }
    if (c == ']') in_brackets = false;
    if ((c == '^' || c == '$') && !in_brackets) continue;
    out += c;
  }
  return out;
}

Result<std::shared_ptr<const LineFilter>> LineFilter::open(
    std::shared_ptr<const SignatureDatabase> signatures) {
  std::vector<std::string> patterns;
  std::vector<const char*> texts;
  std::vector<unsigned> ids;
  for (const Signature* signature : signatures->signatures())
    patterns.push_back(without_anchors(signature->pattern));
  patterns.emplace_back(R"([\x00\x1b])");
  for (const std::string& pattern : patterns) {
    ids.push_back(static_cast<unsigned>(texts.size()));
    texts.push_back(pattern.c_str());
  }
  const std::vector<unsigned> flags(texts.size(), HS_FLAG_MULTILINE);
  std::shared_ptr<LineFilter> filter(new LineFilter());
  filter->signatures_ = std::move(signatures);
  hs_compile_error_t* error = nullptr;
  if (hs_compile_multi(texts.data(), flags.data(), ids.data(), static_cast<unsigned>(texts.size()),
                       HS_MODE_BLOCK, nullptr, &filter->compiled_, &error) != HS_SUCCESS) {
    const std::string why = error == nullptr || error->message == nullptr ? "" : error->message;
    hs_free_compile_error(error);
    return Error{ErrorCode::invalid_argument,
                 "a signature cannot be compiled without its anchor: " + printable(why, 200)};
  }
  return std::shared_ptr<const LineFilter>(filter);
}

LineFilter::~LineFilter() { hs_free_database(compiled_); }

bool LineFilter::scan(std::string_view text, std::vector<Span>& lines) const {
  lines.clear();
  if (compiled_ == nullptr || text.empty()) return true;
  hs_scratch* scratch = signatures_->take_scratch();
  if (scratch == nullptr || hs_alloc_scratch(compiled_, &scratch) != HS_SUCCESS) return false;
  Collector collector{text, lines};
  const auto status = hs_scan(compiled_, text.data(), static_cast<unsigned>(text.size()), 0,
                              scratch, Collector::on_match, &collector);
  signatures_->give_scratch(scratch);
  std::sort(lines.begin(), lines.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  lines.erase(std::unique(lines.begin(), lines.end(),
                          [](const Span& a, const Span& b) { return a.begin == b.begin; }),
              lines.end());
  return status == HS_SUCCESS;
}

}  // namespace faultline
