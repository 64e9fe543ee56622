// `nvidia-smi nvlink -s` and `-e` -> events. A link that is not as its neighbours are becomes one
// line in words of our own ("nvlink GPU-1234:3: inactive, 17 active"), and the
// catalog knows what that means.
//
// Cards that have no bridge, or lie in a PCIe slot, have links that are never active, and on all of
// them alike. What tells a broken link apart is that the card has others which are active, and that
// most cards of the same name have this very one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/line_splitter.h"
#include "ingest/record_lines.h"

namespace faultline {

/// Not thread-safe; one for each file. Only `databases.kernel` is used. The cards of a file are
/// held until its end, at most cards_max. Counters: ingest_nvlink_cards_total.
class NvlinkStateDecoder {
 public:
  static constexpr std::size_t cards_max = 1024;

  NvlinkStateDecoder(const SystemDatabases& databases, Origin origin, Counters& counters,
                     const DecoderLimits& limits = {});

  /// `offset` is where the first byte lies in the file; bytes may be cut anywhere.
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset, Instant now);
  std::vector<Event> finish(Instant now);

 private:
  struct Link {
    bool told = false;  // whether it is active
    bool active = false;
    std::uint64_t offset = 0;
  };
  struct Card {
    std::string id;  // its UUID, or "gpu3"
    std::string model;
    std::map<unsigned, Link> links;
  };
  void take_line(const Line& line, Instant now);
  bool begin_card(std::string_view line);
  void read_link(unsigned number, std::string_view value, std::uint64_t offset, Instant now);
  void judge_links(Instant now);
  [[nodiscard]] bool is_active_on_most(const Card& card, unsigned number) const;
  void add_line(const std::string& words, std::uint64_t offset, Instant now);

  Origin origin_;
  Counters& counters_;
  RecordLines records_;
  LineSplitter lines_;
  std::vector<Card> cards_;
  bool in_card_ = false;  // in the lines of the last one
};

}  // namespace faultline
