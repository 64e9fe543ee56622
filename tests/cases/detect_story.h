// A story for the detectors: who ran where, what was said and when, and what must be concluded.
// docs/formats.md describes the text form. Lines go through the shipped catalog and decoder, so a
// story reads like the logs it was taken from.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "detect/detectors.h"
#include "ingest/log_decoder.h"

namespace faultline {

/// The shipped catalog with its compiled signatures; loaded once for all tests.
class ShippedSignatures {
 public:
  static const ShippedSignatures& get();
  /// Each case may be a process of its own; only the first one compiles.
  static std::filesystem::path cache_folder();
  [[nodiscard]] const Catalog& catalog() const { return catalog_; }
  [[nodiscard]] std::shared_ptr<const SignatureDatabase> database(EventSource source) const;

 private:
  explicit ShippedSignatures(Catalog catalog) : catalog_(std::move(catalog)) {}
  Catalog catalog_;
  std::map<EventSource, std::shared_ptr<const SignatureDatabase>> databases_;
};

/// The detectors under test with what they have raised.
class DetectorBench final : public VerdictSink {
 public:
  DetectorBench();
  void verdict(const Verdict& verdict) override;
  void observe(const Event& event);
  /// Lets the time pass up to `now`.
  void advance(Instant now);
  [[nodiscard]] Instant now() const { return now_; }
  /// By id, as last sent.
  [[nodiscard]] const std::map<VerdictId, Verdict>& verdicts() const { return verdicts_; }
  /// Every time a verdict was sent.
  [[nodiscard]] std::size_t sent() const { return sent_; }

 private:
  Detectors detectors_;
  std::map<VerdictId, Verdict> verdicts_;
  std::size_t sent_ = 0;
  Instant now_;
};

/// One line of a verdict as stories spell it: "verdict gpu.fell_off_bus gpu:n1/0000:3b:00.0
/// confirmed at_once".
std::string verdict_line(const Verdict& verdict);

struct StoryResult {
  std::string expected;  // the story as it stands
  std::string actual;    // the story with the expectations that would hold
  std::vector<std::string> errors;
};

StoryResult tell_story(const std::filesystem::path& path);

}  // namespace faultline
