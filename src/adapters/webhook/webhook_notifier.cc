#include "adapters/webhook/webhook_notifier.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "adapters/webhook/post.h"
#include "adapters/webhook/redact.h"
#include "adapters/webhook/signature.h"
#include "base/backoff.h"
#include "base/hash.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::string_view alerts_path = "/api/v2/alerts";

/// "https://host" or "https://host:443", "http://[::1]:80".
bool has_good_port(std::string_view address) {
  const auto host = address.substr(address.find("://") + 3);
  const auto colon = host.rfind(':');
  if (colon == std::string_view::npos || host.ends_with(']')) return true;
  const auto port = parse_number<std::uint16_t>(host.substr(colon + 1));
  return port && *port > 0;
}

Status check_url(const std::string& url) {
  const bool web = url.starts_with("http://") || url.starts_with("https://");
  const auto shown = url_shown(url);
  if (web && !shown.ends_with("/") && has_good_port(shown) && printable(url, 2048) == url &&
      url.find(' ') == std::string::npos) {
    return ok_status();
  }
  return Error{ErrorCode::invalid_argument,
               "a webhook is http://HOST[:PORT]/... or https://HOST[:PORT]/..., not " + shown};
}

}  // namespace

/// The line and the thread of one target.
class WebhookNotifier::Target {
 public:
  Target(WebhookTarget target, std::string secret, const WebhookOptions& options, Rng rng,
         const Clock& clock, Counters& counters, Deliveries& deliveries)
      : target_(std::move(target)),
        secret_(std::move(secret)),
        options_(options),
        rng_(rng),
        clock_(clock),
        counters_(counters),
        deliveries_(deliveries),
        thread_([this] { work(); }) {}
  ~Target() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      counters_.add("webhook_notices_dropped_total", waiting_.size());
    }
    changed_.notify_all();
    thread_.join();
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  void put(std::uint64_t number, const Notice& notice) {
    std::string body = notice_body(target_.format, notice);
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= options_.waiting_max) {
      counters_.add("webhook_notices_dropped_total");
      deliveries_.end(waiting_.front().number, false);
      waiting_.pop_front();
    }
    waiting_.push_back({number, std::move(body)});
    changed_.notify_all();
  }

 private:
  struct Waiting {
    std::uint64_t number;  // of the delivery
    std::string body;
  };

  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      const Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      const bool delivered = deliver(next.body);
      if (delivered || !stopping()) deliveries_.end(next.number, delivered);
    }
  }

  PostRequest request_for(const std::string& body) const {
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(clock_.now().time_since_epoch()).count();
    const std::string timestamp = std::to_string(now);
    PostRequest request{
        target_.url, body, {}, options_.connect_deadline, options_.answer_deadline, [this] {
          return stopping();
        }};
    request.headers = {
        "Content-Type: application/json", "X-Faultline-Timestamp: " + timestamp,
        // The same for each attempt, so that a receiver can drop what it has already.
        "X-Faultline-Delivery: " + StableHash().add(body).hex()};
    if (!secret_.empty()) {
      request.headers.push_back("X-Faultline-Signature: " +
                                webhook_signature(secret_, timestamp, body));
    }
    return request;
  }

  bool deliver(const std::string& body) {
    Backoff backoff(options_.backoff_first, options_.backoff_longest, Rng(rng_.next()));
    for (int attempt = 1; !stopping(); ++attempt) {
      counters_.add("webhook_posts_total");
      const PostResult result = post(request_for(body));
      if (result.delivered) {
        counters_.add("webhook_notices_delivered_total");
        return true;
      }
      counters_.add("webhook_posts_failed_total");
      if (stopping()) break;  // the transfer was ended by us
      if (!result.retryable || attempt >= options_.attempts_max) {
        give_up(result, attempt);
        return false;
      }
      const Duration asked = std::min(result.retry_after, options_.retry_after_longest);
      pause(std::max(asked, backoff.next()));
    }
    counters_.add("webhook_notices_dropped_total");
    return false;
  }

  void give_up(const PostResult& result, int attempts) {
    counters_.add("webhook_notices_given_up_total");
    if (!options_.warn) return;
    options_.warn("webhook " + url_shown(target_.url) + ": notice given up after " +
                  std::to_string(attempts) + (attempts == 1 ? " attempt: " : " attempts: ") +
                  redact(printable(result.why, 400)));
  }

  void pause(Duration duration) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, duration, [this] { return stopping_; });
  }

  bool stopping() const {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  const WebhookTarget target_;
  const std::string secret_;
  const WebhookOptions options_;
  Rng rng_;
  const Clock& clock_;
  Counters& counters_;
  Deliveries& deliveries_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

Result<WebhookTarget> parse_webhook_target(const std::string& text) {
  WebhookTarget target;
  const auto equals = text.find('=');
  const auto scheme = text.find("://");
  target.url = text;
  // An equals sign behind the scheme belongs to the URL.
  if (equals != std::string::npos && (scheme == std::string::npos || equals < scheme)) {
    const auto format = parse_enum<WebhookFormat>(text.substr(0, equals));
    if (!format) {
      return Error{ErrorCode::invalid_argument,
                   "webhook format is generic, slack or alertmanager, not '" +
                       printable(text.substr(0, equals), 40) + "'"};
    }
    target.format = *format;
    target.url = text.substr(equals + 1);
  }
  FAULTLINE_TRY(check_url(target.url));
  return target;
}

WebhookNotifier::WebhookNotifier() = default;
WebhookNotifier::~WebhookNotifier() = default;

Result<std::unique_ptr<WebhookNotifier>> WebhookNotifier::create(const WebhookOptions& options,
                                                                 const Clock& clock,
                                                                 Counters& counters) {
  if (options.targets.size() > webhook_targets_max) {
    return Error{ErrorCode::invalid_argument,
                 "more than " + std::to_string(webhook_targets_max) + " webhooks"};
  }
  prepare_posts();
  std::unique_ptr<WebhookNotifier> notifier(new WebhookNotifier);
  Rng rng(options.jitter_seed);
  for (WebhookTarget target : options.targets) {
    FAULTLINE_TRY(check_url(target.url));
    if (target.format == WebhookFormat::alertmanager && !target.url.ends_with(alerts_path)) {
      if (target.url.ends_with('/')) target.url.pop_back();
      target.url += alerts_path;
    }
    std::string secret;
    if (!target.secret_file.empty()) {
      auto read = read_secret_file(target.secret_file);
      if (!read) return read.error();
      secret = std::move(read).value();
    }
    notifier->targets_.push_back(std::make_unique<Target>(std::move(target), std::move(secret),
                                                          options, Rng(rng.next()), clock, counters,
                                                          notifier->deliveries_));
  }
  return notifier;
}

Status WebhookNotifier::notify(const Notice& notice) {
  const auto number = deliveries_.begin(notice.incident, targets_.size());
  for (const auto& target : targets_) target->put(number, notice);
  return ok_status();
}

}  // namespace faultline
