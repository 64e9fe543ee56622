#include "adapters/http/status_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>

#include "base/counters.h"

namespace faultline {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class FakeStatus final : public StatusSource {
 public:
  Health health() override {
    const std::lock_guard lock(mutex);
    return shown;
  }
  std::vector<Metric> metrics() override {
    Counters counters;
    counters.add("ingest_lines_total", 7);
    counters.set("spool_bytes", 4096);
    auto metrics = metrics_of(counters.snapshot());
    metrics.push_back(
        {"node_phase", MetricType::gauge, "Nodes by phase", {{{{"node", "a\"b\\c\nd"}}, 1}}});
    return metrics;
  }
  std::mutex mutex;
  Health shown;
};

class StatusServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = StatusServer::start({"127.0.0.1:0"}, source);
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(started).value();
  }
  httplib::Client client() const {
    httplib::Client made("http://" + server->address());
    made.set_read_timeout(60);
    return made;
  }
  void restart(StatusServerOptions options) {
    options.listen = "127.0.0.1:0";
    auto started = StatusServer::start(options, source);
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(started).value();
  }
  /// A connection over which `bytes` were sent.
  int send_open(const std::string& bytes) const {
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const std::string address = server->address();
    name.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    EXPECT_EQ(connect(descriptor, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
    (void)!send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return descriptor;
  }
  /// Sends raw bytes and closes its side; the answer is not looked at.
  void send_raw(const std::string& bytes) const { close(send_open(bytes)); }
  /// All that comes until the server closes; `reset` then says whether it was cut off.
  static std::string read_all(int descriptor, bool* reset = nullptr) {
    std::string all;
    char bytes[1024];
    ssize_t count = 0;
    while ((count = recv(descriptor, bytes, sizeof bytes, 0)) > 0)
      all.append(bytes, static_cast<std::size_t>(count));
    if (reset != nullptr) *reset = count < 0;
    close(descriptor);
    return all;
  }

  FakeStatus source;
  std::unique_ptr<StatusServer> server;
};

TEST_F(StatusServerTest, HealthIs200Or503WithReasons) {
  auto http = client();
  auto answer = http.Get("/healthz");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "{\"reasons\":[],\"status\":\"ok\"}\n");
  {
    const std::lock_guard lock(source.mutex);
    source.shown = {false, {"the scheduler has not answered for 5 min", "\xFF"}};
  }
  answer = http.Get("/healthz");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_THAT(answer->body, HasSubstr("the scheduler has not answered for 5 min"));
}

TEST_F(StatusServerTest, MetricsAreInTheTextFormat) {
  auto http = client();
  const auto answer = http.Get("/metrics");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(answer->body,
            "# HELP faultline_ingest_lines_total ingest lines total\n"
            "# TYPE faultline_ingest_lines_total counter\n"
            "faultline_ingest_lines_total 7\n"
            "# HELP faultline_node_phase Nodes by phase\n"
            "# TYPE faultline_node_phase gauge\n"
            "faultline_node_phase{node=\"a\\\"b\\\\c\\nd\"} 1\n"
            "# HELP faultline_spool_bytes spool bytes\n"
            "# TYPE faultline_spool_bytes gauge\n"
            "faultline_spool_bytes 4096\n");
}

TEST_F(StatusServerTest, NothingElseIsThere) {
  auto http = client();
  EXPECT_EQ(http.Get("/")->status, 404);
  EXPECT_EQ(http.Get("/../../etc/passwd")->status, 404);
  EXPECT_EQ(http.Get("/healthz?x=1")->status, 200);
  EXPECT_EQ(http.Post("/metrics", "x", "text/plain")->status, 404);
}

TEST_F(StatusServerTest, SurvivesWhatIsNoRequest) {
  send_raw("");
  send_raw(std::string(100'000, 'A'));
  send_raw("GET /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n");
  send_raw("POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n");
  send_raw("GET /%00%ff HTTP/1.1\r\nRange: bytes=9-1,-,a\r\n\r\n");
  EXPECT_EQ(client().Get("/healthz")->status, 200);
}

TEST_F(StatusServerTest, ManySilentConnectionsDoNotKeepItFromStopping) {
  for (int i = 0; i < 8; ++i) send_raw("GET /");
  server.reset();
}

TEST_F(StatusServerTest, ASilentOrSlowClientIsClosedAtItsDeadline) {
  restart({.client_timeout = std::chrono::milliseconds{50}});
  EXPECT_EQ(read_all(send_open("")), "");
  EXPECT_EQ(read_all(send_open("GET /healthz HTTP/1.1\r\nX: ")), "");
}

TEST_F(StatusServerTest, AClientThatDribblesItsRequestWithinTheDeadlineIsAnswered) {
  restart({.client_timeout = std::chrono::hours{1}});
  const int slow = send_open("");
  for (const char byte : std::string("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")) {
    ASSERT_EQ(send(slow, &byte, 1, MSG_NOSIGNAL), 1);
    if (byte != '\n') continue;
    EXPECT_EQ(client().Get("/healthz")->status, 200);  // others go on meanwhile
  }
  EXPECT_THAT(read_all(slow), HasSubstr("200 OK"));
}

TEST_F(StatusServerTest, SlowClientsCannotTakeAllPlaces) {
  restart({.connections_max = 4, .client_timeout = std::chrono::hours{1}});
  std::vector<int> slow;
  slow.reserve(5);
  for (int i = 0; i < 4; ++i) slow.push_back(send_open("GET /"));
  EXPECT_EQ(client().Get("/healthz")->status, 200);
  EXPECT_EQ(read_all(slow[0]), "");  // the oldest made room
  // The others are still there.
  EXPECT_GT(send(slow[3], "healthz HTTP/1.1\r\n\r\n", 20, MSG_NOSIGNAL), 0);
  EXPECT_THAT(read_all(slow[3]), HasSubstr("200 OK"));
  for (int i = 1; i < 3; ++i) close(slow[static_cast<std::size_t>(i)]);
}

TEST_F(StatusServerTest, ARequestWithoutAnEndIsRefused) {
  restart({.client_timeout = std::chrono::hours{1}});
  EXPECT_THAT(read_all(send_open(std::string(9000, 'A'))), StartsWith("HTTP/1.1 414 "));
  EXPECT_THAT(read_all(send_open("GET / HTTP/1.1\r\nX: " + std::string(9000, 'A'))),
              StartsWith("HTTP/1.1 431 "));
}

// Closed with its bytes unread, a client would be told of a reset and never see the answer.
TEST_F(StatusServerTest, ALongAddressIsRefusedInWords) {
  const std::string url(200'000, 'A');
  bool reset = true;
  const std::string answer = read_all(send_open("GET /" + url + " HTTP/1.1\r\n\r\n"), &reset);
  EXPECT_FALSE(reset);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 414 URI Too Long\r\n"));
  EXPECT_THAT(answer, HasSubstr("8192 bytes at most"));
}

TEST_F(StatusServerTest, TheLongestRequestIsAnswered) {
  const std::string start = "GET /healthz HTTP/1.1\r\nX: ";
  const std::string longest = start + std::string(8192 - start.size(), 'A');
  EXPECT_THAT(read_all(send_open(longest + "\r\n\r\n")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(read_all(send_open(longest + "A\r\n\r\n")), StartsWith("HTTP/1.1 431 "));
}

TEST_F(StatusServerTest, HeadHasTheHeadersOfGet) {
  for (const std::string path : {"/healthz", "/metrics", "/nothing"}) {
    const std::string whole = read_all(send_open("GET " + path + " HTTP/1.1\r\n\r\n"));
    EXPECT_EQ(read_all(send_open("HEAD " + path + " HTTP/1.1\r\n\r\n")),
              whole.substr(0, whole.find("\r\n\r\n") + 4));
  }
}

TEST_F(StatusServerTest, SaysWhereItCannotListen) {
  EXPECT_EQ(StatusServer::start({server->address()}, source).error().code, ErrorCode::unavailable);
  EXPECT_EQ(StatusServer::start({"nonsense"}, source).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(StatusServer::start({"127.0.0.1:99999"}, source).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(StatusServer::start({"192.0.2.1:9177"}, source).error().code, ErrorCode::unavailable);
}

TEST(PrometheusText, NamesAreMadeSafeAndJoined) {
  EXPECT_EQ(prometheus_text({{"a-b", MetricType::counter, "x\ny", {{{{"1", "v"}}, 0.5}}},
                             {"a.b", MetricType::gauge, "other", {{{}, 2}}}}),
            "# HELP faultline_a_b x\\ny\n# TYPE faultline_a_b counter\n"
            "faultline_a_b{_1=\"v\"} 0.5\nfaultline_a_b 2\n");
  EXPECT_EQ(prometheus_text({}), "");
}

}  // namespace
}  // namespace faultline
