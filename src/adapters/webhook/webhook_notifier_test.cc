// Against a real HTTP server on loopback. Waits are for something that must happen; nothing is
// asserted to be fast.
#include "adapters/webhook/webhook_notifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/stat.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "adapters/webhook/signature.h"

namespace faultline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr Duration long_enough = seconds{60};

Notice notice_of(std::string title = "n3 drained: Uncorrectable ECC error in GPU memory") {
  Notice notice;
  notice.title = std::move(title);
  notice.verdict.id = "v-0123456789abcdef";
  notice.verdict.cause = "gpu.ecc_uncorrectable";
  notice.verdict.subject = Subject::of_gpu("n3", "0000:3b:00.0");
  notice.verdict.status = VerdictStatus::confirmed;
  notice.verdict.attempt = AttemptId{"12", 1};
  notice.verdict.since = Instant{seconds{1'790'000'000}};
  notice.verdict.updated_at = notice.verdict.since + seconds{90};
  notice.incident.id = "i-0123456789abcdef";
  notice.incident.opened_at = notice.verdict.since;
  notice.incident.subject = notice.verdict.subject;
  notice.verdict.explanation = "seen with --password=hunter2";
  Decision decision;
  decision.id = "d-0123456789abcdef";
  decision.ruling = Ruling::ask;
  decision.action.kind = ActionKind::drain_node;
  decision.action.subject = Subject::of_node("n3");
  notice.decisions = {decision};
  Outcome outcome;
  outcome.action = "a-1";
  outcome.status = OutcomeStatus::done;
  outcome.commands = {"curl -H 'Authorization: Bearer abc' https://u:p@h/"};
  notice.outcomes = {outcome};
  notice.next_step = "Run the vendor's field diagnostics <now>.";
  return notice;
}

/// Answers the n-th request with the n-th of `answers`, and with the last one from then on.
class Receiver {
 public:
  explicit Receiver(std::vector<int> answers) : answers_(std::move(answers)) {
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
      const std::lock_guard lock(mutex);
      response.status = answers_[std::min(requests.size(), answers_.size() - 1)];
      if (response.status == 302) response.set_header("Location", "/elsewhere");
      if (response.status == 429) response.set_header("Retry-After", "999999");
      requests.push_back(request);
      changed.notify_all();
    };
    server_.Post(".*", handle);
    server_.Get(".*", handle);
    const int port = server_.bind_to_any_port("127.0.0.1");
    url = "http://127.0.0.1:" + std::to_string(port);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~Receiver() {
    server_.stop();
    thread_.join();
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<httplib::Request> requests;
  std::string url;

 private:
  std::vector<int> answers_;
  httplib::Server server_;
  std::thread thread_;
};

class Webhook : public testing::Test {
 protected:
  Webhook() {
    std::string pattern = testing::TempDir() + "webhook.XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~Webhook() override { std::filesystem::remove_all(folder); }

  std::unique_ptr<WebhookNotifier> notifier(std::vector<WebhookTarget> targets,
                                            int attempts_max = 4) {
    WebhookOptions options;
    options.targets = std::move(targets);
    options.attempts_max = attempts_max;
    options.backoff_first = milliseconds{1};
    options.backoff_longest = milliseconds{2};
    options.retry_after_longest = milliseconds{3};
    options.waiting_max = waiting_max;
    options.answer_deadline = answer_deadline;
    options.warn = [this](const std::string& text) {
      const std::lock_guard lock(warn_mutex);
      warnings.push_back(text);
    };
    auto made = WebhookNotifier::create(options, clock, counters);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  }
  std::string secret_file(const std::string& secret, ::mode_t mode = 0600) const {
    const std::string path = folder + "/secret";
    std::ofstream(path) << secret << "\n";
    chmod(path.c_str(), mode);
    return path;
  }

  std::string folder;
  std::size_t waiting_max = 256;
  Duration answer_deadline = long_enough;
  ManualClock clock{Instant{seconds{1'790'000'000}}};
  Counters counters;
  std::mutex warn_mutex;
  std::vector<std::string> warnings;
};

TEST_F(Webhook, SendsASignedBodyWithoutSecrets) {
  Receiver receiver({200});
  auto sender =
      notifier({{receiver.url + "/hook?x=1", WebhookFormat::generic, secret_file("s3cret")}});
  ASSERT_TRUE(sender->notify(notice_of()).ok());
  ASSERT_TRUE(sender->flush(long_enough));
  ASSERT_EQ(receiver.requests.size(), 1U);
  const auto& request = receiver.requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.get_header_value("X-Faultline-Timestamp"), "1790000000");
  EXPECT_EQ(request.get_header_value("X-Faultline-Signature"),
            webhook_signature("s3cret", "1790000000", request.body));
  const auto body = nlohmann::json::parse(request.body);
  EXPECT_EQ(body["verdict"]["subject"], "gpu:n3/0000:3b:00.0");
  EXPECT_EQ(body["decisions"][0]["ruling"], "ask");
  EXPECT_THAT(request.body, Not(HasSubstr("hunter2")));
  EXPECT_THAT(request.body, Not(HasSubstr("Bearer abc")));
  EXPECT_EQ(counters.get("webhook_notices_delivered_total"), 1U);
}

TEST_F(Webhook, TriesAgainOnServerErrorsWithTheSameDelivery) {
  Receiver receiver({503, 429, 500, 200});
  auto sender = notifier({{receiver.url}});
  ASSERT_TRUE(sender->notify(notice_of()).ok());
  ASSERT_TRUE(sender->flush(long_enough));
  ASSERT_EQ(receiver.requests.size(), 4U);
  EXPECT_EQ(receiver.requests[0].get_header_value("X-Faultline-Delivery"),
            receiver.requests[3].get_header_value("X-Faultline-Delivery"));
  EXPECT_EQ(counters.get("webhook_notices_delivered_total"), 1U);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(Webhook, GivesUpAfterTheLastAttempt) {
  Receiver receiver({500});
  auto sender = notifier({{receiver.url + "/T0/secret-path"}}, 3);
  ASSERT_TRUE(sender->notify(notice_of()).ok());
  ASSERT_TRUE(sender->flush(long_enough));
  EXPECT_EQ(receiver.requests.size(), 3U);
  EXPECT_EQ(counters.get("webhook_notices_given_up_total"), 1U);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("given up after 3 attempts: answered 500"));
  EXPECT_THAT(warnings[0], Not(HasSubstr("secret-path")));
}

TEST_F(Webhook, DoesNotFollowARedirectNorRepeatAClientError) {
  Receiver redirecting({302});
  Receiver refusing({404});
  auto sender = notifier({{redirecting.url}, {refusing.url}});
  ASSERT_TRUE(sender->notify(notice_of()).ok());
  ASSERT_TRUE(sender->flush(long_enough));
  EXPECT_EQ(redirecting.requests.size(), 1U);
  EXPECT_EQ(refusing.requests.size(), 1U);
  EXPECT_EQ(counters.get("webhook_notices_given_up_total"), 2U);
}

TEST_F(Webhook, AHangingTargetDoesNotKeepTheOthersWaiting) {
  // A listening socket that nobody accepts on: connected by the kernel, never answered.
  httplib::Server silent;
  const int port = silent.bind_to_any_port("127.0.0.1");
  Receiver receiver({200});
  auto sender = notifier({{"http://127.0.0.1:" + std::to_string(port)}, {receiver.url}});
  ASSERT_TRUE(sender->notify(notice_of()).ok());
  {
    std::unique_lock lock(receiver.mutex);
    receiver.changed.wait(lock, [&] { return receiver.requests.size() == 1; });
  }
  EXPECT_FALSE(sender->flush(milliseconds{1}));
  sender.reset();  // ends the transfer that hangs
  EXPECT_EQ(counters.get("webhook_notices_delivered_total"), 1U);
  EXPECT_EQ(counters.get("webhook_notices_dropped_total"), 1U);
}

TEST_F(Webhook, AnAnswerThatDoesNotComeIsAnAttempt) {
  httplib::Server silent;
  const int port = silent.bind_to_any_port("127.0.0.1");
  answer_deadline = milliseconds{50};
  auto sender = notifier({{"http://127.0.0.1:" + std::to_string(port)}}, 2);
  ASSERT_TRUE(sender->notify(notice_of()).ok());
  ASSERT_TRUE(sender->flush(long_enough));
  EXPECT_EQ(counters.get("webhook_posts_failed_total"), 2U);
  EXPECT_EQ(counters.get("webhook_notices_given_up_total"), 1U);
}

TEST_F(Webhook, AnIncidentIsDeliveredOnceATargetHasItAndNoneWaits) {
  httplib::Server silent;
  const int port = silent.bind_to_any_port("127.0.0.1");
  Receiver receiver({200});
  Receiver refusing({404});
  {
    auto sender = notifier({{receiver.url}, {refusing.url}});
    Notice notice = notice_of();
    notice.incident.told = {"notify"};
    EXPECT_TRUE(sender->take_delivered().empty());
    ASSERT_TRUE(sender->notify(notice).ok());
    ASSERT_TRUE(sender->flush(long_enough));
    EXPECT_EQ(sender->take_delivered(), std::vector{notice.incident});
    EXPECT_TRUE(sender->take_delivered().empty()) << "once";
  }
  auto given_up = notifier({{refusing.url}});
  ASSERT_TRUE(given_up->notify(notice_of()).ok());
  ASSERT_TRUE(given_up->flush(long_enough));
  EXPECT_TRUE(given_up->take_delivered().empty());
  auto hanging = notifier({{"http://127.0.0.1:" + std::to_string(port)}, {receiver.url}});
  ASSERT_TRUE(hanging->notify(notice_of()).ok());
  {
    std::unique_lock lock(receiver.mutex);
    receiver.changed.wait(lock, [&] { return receiver.requests.size() == 2; });
  }
  EXPECT_FALSE(hanging->flush(milliseconds{1}));
  EXPECT_TRUE(hanging->take_delivered().empty()) << "one does not have it yet";
}

TEST_F(Webhook, TheOldestIsDroppedWhenTheLineIsFull) {
  httplib::Server silent;
  const int port = silent.bind_to_any_port("127.0.0.1");
  waiting_max = 2;
  auto sender = notifier({{"http://127.0.0.1:" + std::to_string(port)}});
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(sender->notify(notice_of("notice " + std::to_string(i))).ok());
  // One may be on its way; the line holds two; the rest is gone.
  EXPECT_GE(counters.get("webhook_notices_dropped_total"), 7U);
  EXPECT_LE(counters.get("webhook_notices_dropped_total"), 8U);
  EXPECT_TRUE(sender->take_delivered().empty());
}

TEST_F(Webhook, SlackIsOneEscapedText) {
  const auto body =
      nlohmann::json::parse(notice_body(WebhookFormat::slack, notice_of("<!channel> & co")));
  EXPECT_THAT(body["text"].get<std::string>(), HasSubstr("*&lt;!channel&gt; &amp; co*"));
  EXPECT_THAT(body["text"].get<std::string>(), HasSubstr("faultline approve d-0123456789abcdef"));
  Notice endless = notice_of();
  for (int i = 0; i < 5000; ++i) endless.next_step += "\xC3\xA9";
  EXPECT_LE(nlohmann::json::parse(notice_body(WebhookFormat::slack, endless))["text"]
                .get<std::string>()
                .size(),
            3003U);
}

TEST_F(Webhook, AlertmanagerGetsAnAlertThatResolves) {
  Receiver receiver({200});
  auto sender = notifier({{receiver.url, WebhookFormat::alertmanager}});
  Notice notice = notice_of();
  ASSERT_TRUE(sender->notify(notice).ok());
  notice.incident.closed_at = notice.incident.opened_at + seconds{90};
  ASSERT_TRUE(sender->notify(notice).ok());
  ASSERT_TRUE(sender->flush(long_enough));
  ASSERT_EQ(receiver.requests.size(), 2U);
  EXPECT_EQ(receiver.requests[0].path, "/api/v2/alerts");
  const auto raised = nlohmann::json::parse(receiver.requests[0].body)[0];
  const auto resolved = nlohmann::json::parse(receiver.requests[1].body)[0];
  EXPECT_EQ(raised["labels"], resolved["labels"]) << "the same alert";
  EXPECT_EQ(raised["labels"]["node"], "n3");
  EXPECT_EQ(raised["startsAt"], to_text(notice.incident.opened_at));
  EXPECT_FALSE(raised.contains("endsAt"));
  EXPECT_EQ(resolved["endsAt"], to_text(notice.incident.closed_at));
}

TEST_F(Webhook, RefusesBadTargetsAndOpenSecrets) {
  for (const std::string url :
       {"", "ftp://x/y", "file:///etc/passwd", "https://", "http://a b/", "https:// x"}) {
    WebhookOptions options;
    options.targets = {{url}};
    EXPECT_EQ(WebhookNotifier::create(options, clock, counters).error().code,
              ErrorCode::invalid_argument)
        << url;
  }
  EXPECT_EQ(read_secret_file(secret_file("x", 0644)).error().code, ErrorCode::permission_denied);
  EXPECT_EQ(read_secret_file(secret_file("", 0600)).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(read_secret_file(folder + "/absent").error().code, ErrorCode::not_found);
  EXPECT_EQ(*read_secret_file(secret_file("abc")), "abc");
}

TEST_F(Webhook, TargetsAreReadFromFlags) {
  EXPECT_EQ(parse_webhook_target("slack=https://h/x?a=b")->format, WebhookFormat::slack);
  EXPECT_EQ(parse_webhook_target("slack=https://h/x?a=b")->url, "https://h/x?a=b");
  EXPECT_EQ(parse_webhook_target("https://h/x?a=b")->format, WebhookFormat::generic);
  EXPECT_FALSE(parse_webhook_target("teams=https://h").ok());
  EXPECT_FALSE(parse_webhook_target("slack=h").ok());
  for (const char* good : {"http://h:65535/x", "http://h:1", "http://[::1]", "http://[::1]:80/x"})
    EXPECT_TRUE(parse_webhook_target(good).ok()) << good;
  for (const char* bad :
       {"http://h:65536/x", "http://h:0", "http://h:", "http://h:x", "http://h:-1"})
    EXPECT_FALSE(parse_webhook_target(bad).ok()) << bad;
}

// Known answer: computed with `printf '1.{}' | openssl dgst -sha256 -hmac key`.
TEST(WebhookSignature, IsHmacSha256) {
  EXPECT_EQ(webhook_signature("key", "1", "{}").size(), 7U + 64U);
  EXPECT_EQ(webhook_signature("key", "1", "{}"),
            "sha256=1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224");
}

}  // namespace
}  // namespace faultline
