#include "ingest/nccl_ras_json.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "ingest/journal_json.h"
#include "ingest/line_time.h"
#include "ingest/nccl_names.h"

namespace faultline {
namespace {

constexpr std::size_t depth_max = 16;
constexpr std::size_t kinds_max = 32;  // of collectives
constexpr std::size_t name_bytes_max = 64;
constexpr std::size_t host_bytes_max = 253;

/// Makes a RasReport while the document is read, so that no tree of it is needed. Values that are
/// not known are passed over.
class ReportReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  ReportReader(RasReport& report, const Origin& origin) : report_(report), origin_(origin) {}

  bool null() override { return true; }
  bool boolean(bool value) override {
    number(value ? 1 : 0);
    return true;
  }
  bool number_integer(std::int64_t value) override {
    number(value);
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    number(static_cast<std::int64_t>(
        std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max())));
    return true;
  }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& value) override {
    text(value);
    return true;
  }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }
  bool key(std::string& value) override {
    key_ = value.substr(0, name_bytes_max);
    return true;
  }
  bool start_array(std::size_t /*size*/) override { return enter(); }
  bool end_array() override { return leave(); }
  bool start_object(std::size_t /*size*/) override {
    if (key_ == "communicators") begin_communicator();
    if (key_ == "ranks" || key_ == "missing_ranks") begin_rank(key_ == "ranks");
    return enter();
  }
  bool end_object() override {
    const bool left = leave();
    if (key_ == "ranks" || key_ == "missing_ranks") end_rank();
    if (names_.empty()) end_monitor_event();
    return left;
  }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;
  }

  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  /// Elements of an array go by its name.
  bool enter() {
    names_.push_back(key_);
    return names_.size() <= depth_max;
  }
  bool leave() {
    key_ = std::move(names_.back());
    names_.pop_back();
    return true;
  }
  [[nodiscard]] const std::string& parent() const {
    static const std::string none;
    return names_.empty() ? none : names_.back();
  }

  /// Those beyond the limit are read into a communicator that is thrown away.
  void begin_communicator() {
    full_ = report_.communicators.size() >= ras_communicators_max;
    if (full_) {
      ++left_out_;
    } else {
      report_.communicators.emplace_back();
    }
  }
  [[nodiscard]] RasCommunicator* communicator() {
    return full_ || report_.communicators.empty() ? nullptr : &report_.communicators.back();
  }

  void begin_rank(bool answered) {
    rank_ = {};
    rank_.answered = answered;
    number_ = -1;
  }

  void end_rank() {
    if (communicator() == nullptr || number_ < 0) return;
    if (ranks_ >= ras_ranks_max || number_ >= static_cast<std::int64_t>(ras_ranks_max)) {
      ++left_out_;
      return;
    }
    ++ranks_;
    rank_.offset = report_.offset;
    rank_.text = "communicator " + communicator()->name + ": rank " + std::to_string(number_) +
                 (rank_.answered ? "" : " is missing");
    if (rank_.dead) rank_.text += ", considered dead";
    if (rank_.error != 0) rank_.text += ", ncclResult " + std::to_string(rank_.error);
    if (rank_.aborted) rank_.text += ", aborted";
    for (const auto& [op, count] : rank_.launched)
      rank_.text += ", " + op + " " + std::to_string(count);
    communicator()->ranks.emplace(static_cast<std::int32_t>(number_), std::move(rank_));
  }

  void end_monitor_event() {
    const bool dead = event_ == "PEER_DEAD" || event_ == "PEER_TIMEOUT_DEAD";
    const bool silent = event_ == "PEER_UNRESPONSIVE" || event_ == "PEER_SEND_STUCK";
    if (!dead && !silent) return;
    peer_.answered = false;
    peer_.dead = dead;
    peer_.unresponsive = silent;
    peer_.offset = report_.offset;
    peer_.text = event_ + ": process " + std::to_string(peer_.pid) + " on node " + peer_.host;
    report_.lost.push_back(std::move(peer_));
  }

  void text(const std::string& value) {
    if (parent() == "communicators" && key_ == "hash" && communicator() != nullptr)
      communicator()->name = communicator_name(value);
    if (key_ == "host" && parent() != "peer") rank_.host = printable(value, host_bytes_max);
    if (key_ == "host" && parent() == "peer") peer_.host = printable(value, host_bytes_max);
    if (key_ == "nccl_version") report_.version = printable(value, name_bytes_max);
    if (key_ == "event") event_ = printable(value, name_bytes_max);
    if (key_ == "timestamp") {
      const TimeReference reference{origin_.last_written, {}, origin_.utc_offset};
      report_.at = resolve_time(TimeForm::iso, value, reference).at;
    }
  }

  void number(std::int64_t value) {
    const auto small = static_cast<std::int32_t>(std::clamp<std::int64_t>(value, -1, 1 << 24));
    const std::string& owner = parent();
    if (owner == "communicators" && key_ == "size" && communicator() != nullptr) {
      communicator()->size = std::min(small, static_cast<std::int32_t>(ras_ranks_max));
    } else if (owner == "ranks" || owner == "missing_ranks") {
      if (key_ == "rank") number_ = value;
      read_process(rank_, value, small);
    } else if (owner == "peer") {
      read_process(peer_, value, small);
    } else if (owner == "status") {
      read_status(value, small);
    } else if (owner == "collective_counts" && rank_.launched.size() < kinds_max && value >= 0) {
      rank_.launched[printable(key_, name_bytes_max)] = static_cast<std::uint64_t>(value);
    } else if (owner == "cuda_devs" || owner == "nvml_devs") {
      std::int32_t& device = owner == "cuda_devs" ? peer_.cuda_dev : peer_.nvml_dev;
      if (device < 0) device = small;
    }
  }

  void read_process(RasRank& rank, std::int64_t value, std::int32_t small) const {
    if (key_ == "pid") rank.pid = value;
    if (key_ == "cuda_dev") rank.cuda_dev = small;
    if (key_ == "nvml_dev") rank.nvml_dev = small;
  }

  void read_status(std::int64_t value, std::int32_t small) {
    if (key_ == "unresponsive") rank_.unresponsive = value != 0;
    if (key_ == "considered_dead") rank_.dead = value != 0;
    if (key_ == "abort_flag") rank_.aborted = value != 0;
    constexpr std::int32_t in_progress = 7;
    const bool error = key_ == "async_error" || (key_ == "init_state" && small != in_progress);
    if (error && rank_.error == 0) rank_.error = small;
  }

  RasReport& report_;
  const Origin& origin_;
  std::vector<std::string> names_;
  std::string key_;
  RasRank rank_;
  std::int64_t number_ = -1;
  RasRank peer_;
  std::string event_;
  std::size_t ranks_ = 0;
  bool full_ = false;
  std::uint64_t left_out_ = 0;
};

}  // namespace

std::vector<Event> NcclRasJsonDecoder::feed(std::string_view bytes, std::uint64_t offset) {
  std::vector<Event> events;
  records_.feed(bytes, offset, [&](std::string_view record, std::uint64_t at) {
    RasReport report;
    report.offset = at;
    ReportReader reader(report, origin_);
    if (!nlohmann::json::sax_parse(record, &reader)) {
      counters_.add("ingest_json_broken_total");
      return;
    }
    if (reader.left_out() > 0) counters_.add("ingest_ras_too_many_total", reader.left_out());
    auto told = ras_events(report, origin_, counters_);
    std::move(told.begin(), told.end(), std::back_inserter(events));
  });
  return events;
}

std::vector<Event> NcclRasJsonDecoder::finish() {
  records_.finish();
  count_json_losses(records_.totals(), counters_);
  return {};
}

}  // namespace faultline
