// Tells people by HTTP POST. notify() only puts the notice in a line; each target has a thread of
// its own, so that one that hangs does not keep the others from hearing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "adapters/webhook/deliveries.h"
#include "adapters/webhook/notice_body.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/result.h"
#include "base/rng.h"
#include "controller/ports.h"

namespace faultline {

struct WebhookTarget {
  std::string url;  // http or https; for alertmanager its address is enough
  WebhookFormat format = WebhookFormat::generic;
  std::string secret_file = {};  // "": not signed
};

struct WebhookOptions {
  std::vector<WebhookTarget> targets;
  std::size_t waiting_max =
      256;               // notices in line for a target; the oldest go first when it is full
  int attempts_max = 6;  // of one notice
  Duration connect_deadline = std::chrono::seconds{5};
  Duration answer_deadline = std::chrono::seconds{15};
  Duration backoff_first = std::chrono::seconds{1};
  Duration backoff_longest = std::chrono::seconds{60};
  Duration retry_after_longest = std::chrono::minutes{5};  // of what a receiver may ask for
  std::uint64_t jitter_seed = 1;
  /// A notice that was given up, and why. Called from the targets' threads; holds no secret.
  std::function<void(const std::string&)> warn = {};
};

inline constexpr std::size_t webhook_targets_max = 16;

/// "https://host/path", "slack=https://hooks...", "alertmanager=http://host:9093": how a target is
/// written in flags.
Result<WebhookTarget> parse_webhook_target(const std::string& text);

class WebhookNotifier final : public Notifier {
 public:
  /// invalid_argument: a bad URL or too many targets; other errors of the secret file. Clock and
  /// counters must outlive it.
  static Result<std::unique_ptr<WebhookNotifier>> create(const WebhookOptions& options,
                                                         const Clock& clock, Counters& counters);
  /// What still waits is dropped and counted; it was not delivered.
  ~WebhookNotifier() override;

  /// ok: it is in line for every target. Never blocks.
  Status notify(const Notice& notice) override;
  /// Of a notice that every target has or has given up, if one has it.
  std::vector<Incident> take_delivered() override { return deliveries_.take_delivered(); }
  bool flush(Duration deadline) override { return deliveries_.wait_until_over(deadline); }

 private:
  class Target;
  WebhookNotifier();
  Deliveries deliveries_;
  std::vector<std::unique_ptr<Target>> targets_;  // last: they use all of the above
};

}  // namespace faultline
