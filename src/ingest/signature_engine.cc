#include "ingest/signature_engine.h"

#include <hs/hs.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace faultline {
namespace {

constexpr std::size_t no_line = std::numeric_limits<std::size_t>::max();
constexpr std::size_t groups_max = 32;  // the loader allows 24

/// A scratch for the time of one scan.
class ScratchLease {
 public:
  explicit ScratchLease(const SignatureDatabase& database)
      : database_(database), scratch_(database.take_scratch()) {}
  ~ScratchLease() { database_.give_scratch(scratch_); }
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;
  [[nodiscard]] hs_scratch* get() const { return scratch_; }

 private:
  const SignatureDatabase& database_;
  hs_scratch* scratch_;
};

/// Which signature names a line: the smaller the earlier.
int use_order(SignatureUse use) {
  switch (use) {
    case SignatureUse::primary:
    case SignatureUse::clears: return 0;
    case SignatureUse::identity: return 1;
    case SignatureUse::detail: return 2;
    case SignatureUse::parser: return 3;
  }
  return 3;
}

/// Adds the captures of `signature` on `body` that are not there yet. Where it matches; nullopt if
/// it does not.
std::optional<std::size_t> add_captures(const re2::RE2& expression, const Signature& signature,
                                        std::string_view body, Fields& captures) {
  std::array<re2::StringPiece, groups_max> groups;
  const auto count = std::min(signature.captures.size() + 1, groups.size());
  if (!expression.Match({body.data(), body.size()}, 0, body.size(), RE2::UNANCHORED, groups.data(),
                        static_cast<int>(count))) {
    return std::nullopt;
  }
  for (std::size_t i = 1; i < count; ++i) {
    // A group that took no part has no data; one that matched nothing says nothing.
    if (!groups[i].empty())
      captures.emplace(signature.captures[i - 1], std::string(groups[i].data(), groups[i].size()));
  }
  return static_cast<std::size_t>(groups[0].data() - body.data());
}

/// Which of two signatures names a line that both match: primary and clears before identity,
/// detail, parser; then the higher severity, the more decisive strength, the smaller id.
bool names_line_before(const Signature& left, const Signature& right) {
  const auto order = [](const Signature& signature) {
    return std::tuple(use_order(signature.use), -static_cast<int>(signature.severity),
                      static_cast<int>(signature.strength));
  };
  const auto left_order = order(left);
  const auto right_order = order(right);
  return left_order != right_order ? left_order < right_order : left.id < right.id;
}

}  // namespace

void LineBlock::add(std::string_view line, std::size_t head_bytes, std::uint64_t offset) {
  Entry entry;
  entry.start = text_.size();
  entry.offset = offset;
  if (head_bytes > 0) text_.append(line.substr(0, head_bytes)).push_back('\n');
  entry.body = text_.size();
  text_.append(line.substr(head_bytes));
  entry.end = text_.size();
  text_.push_back('\n');
  entries_.push_back(entry);
}

void LineBlock::clear() {
  text_.clear();
  entries_.clear();
}

std::string_view LineBlock::body(std::size_t line) const {
  const Entry& entry = entries_[line];
  return std::string_view(text_).substr(entry.body, entry.end - entry.body);
}

std::string LineBlock::line(std::size_t line) const {
  const Entry& entry = entries_[line];
  const std::size_t head_bytes = entry.body == entry.start ? 0 : entry.body - entry.start - 1;
  return text_.substr(entry.start, head_bytes).append(body(line));
}

std::size_t LineBlock::line_at(std::size_t text_offset) const {
  const auto after =
      std::partition_point(entries_.begin(), entries_.end(),
                           [&](const Entry& entry) { return entry.start < text_offset; });
  return after == entries_.begin() ? 0 : static_cast<std::size_t>(after - entries_.begin()) - 1;
}

SignatureEngine::SignatureEngine(std::shared_ptr<const SignatureDatabase> database,
                                 Counters& counters)
    : database_(std::move(database)), counters_(counters) {}

namespace {

/// What Vectorscan reports, as (line, signature) once each. A pattern that ends in ".*" is reported
/// for every byte.
struct Collector {
  const LineBlock& block;
  std::vector<std::size_t> last_line;  // by signature
  std::vector<std::pair<std::size_t, std::size_t>> found;

  static int on_match(unsigned id, unsigned long long, unsigned long long to, unsigned,
                      void* context) {
    auto& self = *static_cast<Collector*>(context);
    if (id >= self.last_line.size()) return 0;  // bytes that are none of a signature's
    const std::size_t line = self.block.line_at(static_cast<std::size_t>(to));
    if (self.last_line[id] == line) return 0;
    self.last_line[id] = line;
    self.found.emplace_back(line, id);
    return 0;
  }
};

}  // namespace

std::vector<Hit> SignatureEngine::scan(const LineBlock& block) {
  std::vector<Hit> hits;
  if (block.empty() || database_->compiled() == nullptr) return hits;
  Collector collector{block, std::vector<std::size_t>(database_->signatures().size(), no_line), {}};
  {
    const ScratchLease scratch(*database_);
    const auto bytes = static_cast<unsigned>(block.text().size());
    if (scratch.get() == nullptr ||
        hs_scan(database_->compiled(), block.text().data(), bytes, 0, scratch.get(),
                Collector::on_match, &collector) != HS_SUCCESS) {
      counters_.add("signature_scan_failures_total");
    }
  }
  auto& found = collector.found;
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  for (std::size_t i = 0; i < found.size();) {
    std::size_t end = i;
    std::vector<std::size_t> candidates;
    for (; end < found.size() && found[end].first == found[i].first; ++end)
      candidates.push_back(found[end].second);
    if (auto hit = confirm(block, found[i].first, std::move(candidates)))
      hits.push_back(std::move(*hit));
    i = end;
  }
  return hits;
}

std::optional<Hit> SignatureEngine::confirm(const LineBlock& block, std::size_t line,
                                            std::vector<std::size_t> candidates) {
  const auto& signatures = database_->signatures();
  std::sort(candidates.begin(), candidates.end(), [&](std::size_t left, std::size_t right) {
    return names_line_before(*signatures[left], *signatures[right]);
  });
  Hit hit;
  hit.line = line;
  for (const std::size_t index : candidates) {
    // In the order of who names the line, so that the captures of the more telling stay.
    const auto at = add_captures(database_->expression(index), *signatures[index], block.body(line),
                                 hit.captures);
    if (!at) {
      counters_.add("signature_unconfirmed_total");
      continue;
    }
    if (hit.matched.empty()) hit.at = *at;
    hit.matched.push_back(signatures[index]);
  }
  if (hit.matched.empty()) return std::nullopt;
  hit.signature = hit.matched.front();
  return hit;
}

}  // namespace faultline
