// `ncclras` in its text form -> events. The report groups ranks that agree and lists the others, so
// what the majority launched is known of all that are not listed. Lines of the monitoring mode
// ("PEER_DEAD: Process 12 on node 10.0.0.7 managing GPU 1") are read, too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/line_splitter.h"
#include "ingest/nccl_ras.h"

namespace faultline {

/// Not thread-safe; one for each file, which may hold several reports. Counters: those of
/// nccl_ras.h, and ingest_ras_too_many_total.
class NcclRasTextDecoder {
 public:
  NcclRasTextDecoder(Origin origin, Counters& counters)
      : origin_(std::move(origin)), counters_(counters) {}

  /// `offset` is where the first byte lies in the file; bytes may be cut anywhere.
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset);
  std::vector<Event> finish();

 private:
  /// Ranks that launched equally much.
  struct Agreement {
    std::int64_t count = 0;
    std::uint64_t launched = 0;
    std::vector<std::int32_t> listed;
  };
  /// A row of the summary: communicators of one size that are in one state.
  struct Group {
    std::int32_t size = 0;
    std::int64_t communicators = 0;
    std::int64_t detailed = 0;  // of which the report says more
  };
  enum class Topic { none, dead, incomplete, counts, status, errors };

  void take_line(const Line& line);
  bool take_heading(std::string_view text);
  bool take_table_row(std::string_view text);
  bool take_communicator(std::string_view text);
  bool take_process(std::string_view text, std::uint64_t offset);
  bool take_rank(std::string_view text, std::uint64_t offset);
  void take_missing_ranks(std::string_view text, std::uint64_t offset);
  void take_count(std::string_view text);
  void note(RasRank& rank, std::int32_t number, std::string_view words);
  RasRank* rank_to_fill(std::int32_t number, std::uint64_t offset, std::string_view text);
  RasCommunicator* communicator();
  void end_counts();
  void add_undetailed();
  void join_lost();
  void end_report();

  Origin origin_;
  Counters& counters_;
  LineSplitter lines_;
  RasReport report_;
  std::map<std::int64_t, Group> groups_;
  std::map<std::string, std::size_t, std::less<>> known_;  // "0-0" -> communicator
  std::optional<std::size_t> communicator_;
  Topic topic_ = Topic::none;
  std::string op_;          // that the counts are of
  std::int32_t error_ = 0;  // that the listed ranks reported
  bool listed_abort_ = false;
  std::vector<Agreement> agreements_;
  std::size_t ranks_ = 0;
  std::vector<Event> events_;
};

}  // namespace faultline
