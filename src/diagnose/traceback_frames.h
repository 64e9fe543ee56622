// The last frame of a Python traceback, as a field of the event about the exception that ended it:
// where a person begins to read.
#pragma once

#include <memory>
#include <string>

#include "diagnose/file_decoder.h"

namespace faultline {

/// Of an exception's event: "train.py:70 in main".
inline constexpr std::string_view frame_field = "frame";

/// The frame above the line at `at` in `text`, which may hold the lines of several ranks in turn;
/// "" if there is none.
std::string frame_above(std::string_view text, std::size_t at);

/// Where the task of Ray ran whose traceback ends with the line at `at`; "" if its head does not
/// say.
std::string ray_address_above(std::string_view text, std::size_t at);

/// Passes on what `inner` decodes of a job's log and adds the frames.
class TracebackFrames final : public FileDecoder {
 public:
  explicit TracebackFrames(std::unique_ptr<FileDecoder> inner) : inner_(std::move(inner)) {}

  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset) override;
  std::vector<Event> finish() override;
  [[nodiscard]] std::string trouble() const override { return inner_->trouble(); }
  [[nodiscard]] std::string_view document() const override { return inner_->document(); }

 private:
  void add_frames(std::vector<Event>& events, std::string_view text, std::uint64_t offset) const;

  std::unique_ptr<FileDecoder> inner_;
  std::string tail_;  // what was read last
  std::uint64_t tail_offset_ = 0;
};

}  // namespace faultline
