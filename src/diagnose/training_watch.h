// Did the training go on after a rank spoke of broken hardware? Every clean log is full of lines
// that count steps, so they are looked at only behind such words. Steps that go on there are told
// as an event: a sign of life of whoever spoke, and the fault did not end the job. At the end of a
// log an event tells when its last step was counted: until then the job was at work; and another
// one where the log goes on long after that.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "diagnose/file_decoder.h"
#include "ingest/line_prefix.h"

namespace faultline {

/// So many steps, one further than the other, are no line that was on its way already.
inline constexpr int steps_after_min = 3;
/// Where another rank counts them: so far ahead of one that it waits for no rank runs.
inline constexpr int steps_of_others_min = 10;

/// Around the decoder of a job's log.
class TrainingWatch final : public FileDecoder {
 public:
  /// `catalog` must outlive it. `now` is when the log is read.
  TrainingWatch(std::unique_ptr<FileDecoder> log, Origin origin, const Catalog& catalog,
                Instant now)
      : log_(std::move(log)), origin_(std::move(origin)), catalog_(catalog), now_(now) {}

  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset) override;
  std::vector<Event> finish() override;
  [[nodiscard]] std::string_view document() const override { return log_->document(); }
  [[nodiscard]] std::string trouble() const override { return log_->trouble(); }

  /// A step, and where the line that counts it begins.
  struct Counted {
    std::int64_t step = -1;
    std::uint64_t offset = 0;
  };

 private:
  /// Words about broken hardware, and the steps behind them.
  struct Said {
    Event event;
    std::int64_t last_step = -1;  // before it, as far as that is known
    std::uint64_t looked_until = 0;
    std::int64_t own_step = -1, others_step = -1;
    int own_steps = 0, others_steps = 0;
  };
  struct Line {
    std::string_view text;
    std::uint64_t offset = 0;
  };

  /// The events among them at which a watch begins or ends, by place.
  [[nodiscard]] std::vector<const Event*> marks_in(const std::vector<Event>& events) const;
  /// Goes on behind the last line that was looked at.
  std::vector<Event> look_at_lines(const std::vector<const Event*>& marks);
  /// The last step that is counted in `before`, the end of what was read so far; -1 if there is
  /// none near. `offset` is where it begins.
  std::int64_t step_before(std::string_view before, std::uint64_t offset);
  void take(const Event& event, std::string_view before);
  void count(const Line& line, std::vector<Event>& told);
  [[nodiscard]] static bool may_be_before(const Said& said, const Line& line, Instant at);
  [[nodiscard]] bool says_hardware(const Event& event) const;
  [[nodiscard]] bool ends_watch(const Event& event) const;
  [[nodiscard]] LinePrefix prefix_of(std::string_view line) const;
  [[nodiscard]] Instant time_of(const LinePrefix& prefix) const;
  /// Nothing where the last step, as far as it is remembered, has no time.
  [[nodiscard]] std::optional<Event> last_step() const;
  /// That the log went on long after its last step; nothing of a training that said it was done.
  [[nodiscard]] std::optional<Event> stall() const;
  /// The last lines of the log, all whole; how many does not depend on where reads ended.
  [[nodiscard]] std::string_view remembered() const;
  [[nodiscard]] Event sign_of_life(const Said& said, const Line& line, std::int64_t step,
                                   Instant at) const;

  std::unique_ptr<FileDecoder> log_;
  Origin origin_;
  const Catalog& catalog_;
  Instant now_;
  std::vector<Said> watched_;
  Counted counted_;  // before counted_until_
  std::uint64_t counted_until_ = 0;
  std::string recent_;             // the last bytes of the log, so that no verdict depends on
  std::uint64_t recent_end_ = 0;   // where a read ended
  std::uint64_t finished_at_ = 0;  // behind the words that say so
  std::uint64_t lines_until_ = 0;  // the first line without an end, or not yet looked at
};

}  // namespace faultline
