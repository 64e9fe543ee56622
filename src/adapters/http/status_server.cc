#include "adapters/http/status_server.h"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <list>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "adapters/http/endpoint.h"
#include "base/clock.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t request_bytes_max = 8192;
constexpr std::size_t read_bytes = 4096;
constexpr std::string_view headers_end = "\r\n\r\n";
constexpr std::size_t reasons_max = 64;
constexpr int backlog = 64;
constexpr Duration accept_pause = std::chrono::milliseconds{10};

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool ok() const { return number_ >= 0; }

 private:
  int number_;
};

enum class Phase {
  asking,
  answering,
  leaving,  // its last bytes are let in and forgotten: closed before, it would lose our answer
};

/// One client: its request until the headers have ended, then what is left of the answer.
struct Connection {
  Descriptor socket;
  Duration deadline{};  // monotonic
  std::string request;
  std::string answer;
  Phase phase = Phase::asking;
};

std::string health_body(const Health& health) {
  nlohmann::json body{{"status", health.ok ? "ok" : "unhealthy"},
                      {"reasons", nlohmann::json::array()}};
  for (const auto& reason : health.reasons) {
    if (body["reasons"].size() >= reasons_max) break;
    body["reasons"].push_back(printable(reason, 512));
  }
  return body.dump() + "\n";
}

std::string answer_text(std::string_view status, std::string_view type, std::string_view body) {
  return "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
         std::string(body);
}

struct Request {
  std::string_view path;  // "" for what is no GET and no HEAD
  bool head = false;      // the headers alone
};

/// Of "GET /path?query HTTP/1.1".
Request parse_request(std::string_view text) {
  const auto line = text.substr(0, text.find("\r\n"));
  const auto words = split(line, ' ');
  if (words.size() != 3 || !words[2].starts_with("HTTP/1.")) return {};
  if (words[0] != "GET" && words[0] != "HEAD") return {};
  return {words[1].substr(0, words[1].find('?')), words[0] == "HEAD"};
}

std::string answer_to(const Request& request, StatusSource& source) {
  if (request.path == "/healthz") {
    const Health health = source.health();
    return answer_text(health.ok ? "200 OK" : "503 Service Unavailable", "application/json",
                       health_body(health));
  }
  if (request.path == "/metrics") {
    return answer_text("200 OK", "text/plain; version=0.0.4; charset=utf-8",
                       prometheus_text(source.metrics()));
  }
  return answer_text("404 Not Found", "text/plain", "faultline: GET /healthz or /metrics\n");
}

std::string answer_to(std::string_view text, StatusSource& source) {
  if (text.find(headers_end) > request_bytes_max) {
    const bool in_headers = text.find("\r\n") <= request_bytes_max;
    return answer_text(
        in_headers ? "431 Request Header Fields Too Large" : "414 URI Too Long", "text/plain",
        "faultline: a request has " + std::to_string(request_bytes_max) + " bytes at most\n");
  }
  const Request request = parse_request(text);
  std::string answer = answer_to(request, source);
  if (request.head) answer.resize(answer.find(headers_end) + headers_end.size());
  return answer;
}

/// Listens at the first address of that name that can be had.
Descriptor listen_at(const Endpoint& endpoint) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const auto port = std::to_string(endpoint.port);
  if (::getaddrinfo(endpoint.host.c_str(), port.c_str(), &wanted, &found) != 0) return Descriptor();
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    Descriptor socket(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    // A restart must not wait for the connections of the life before.
    const int yes = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (socket.ok() && ::bind(socket.get(), at->ai_addr, at->ai_addrlen) == 0 &&
        ::listen(socket.get(), backlog) == 0)
      return socket;
  }
  return Descriptor();
}

std::uint16_t port_of(const Descriptor& socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &length);
  // The port lies at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&name)->sin_port);
}

}  // namespace

/// One thread and one poll() for all clients, so that none of them can hold up another: each has
/// one deadline for everything, and when all places are taken, the one who had its place longest
/// makes room.
class StatusServer::Impl {
 public:
  Impl(const StatusServerOptions& options, StatusSource& source)
      : options_(options), source_(source) {}
  ~Impl() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status start() {
    const auto where = parse_endpoint(options_.listen);
    if (!where) return where.error();
    listener_ = listen_at(*where);
    stop_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
    if (!listener_.ok() || !stop_.ok()) {
      return Error{ErrorCode::unavailable,
                   "cannot listen on " + options_.listen + ": is the port taken?"};
    }
    address_ = options_.listen.substr(0, options_.listen.rfind(':') + 1) +
               std::to_string(port_of(listener_));
    thread_ = std::thread([this] { run(); });
    return ok_status();
  }
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  void run();
  [[nodiscard]] std::vector<pollfd> wanted() const;
  [[nodiscard]] int wait_ms() const;
  void accept_all();
  /// False: it is done with, or gone.
  bool serve(Connection& client);
  bool read_some(Connection& client);
  static bool write_some(Connection& client);

  const StatusServerOptions options_;
  StatusSource& source_;
  const SystemClock clock_;
  Descriptor listener_, stop_;
  std::list<Connection> clients_;  // oldest first, so the first deadline is the next one
  std::string address_;
  std::thread thread_;
};

std::vector<pollfd> StatusServer::Impl::wanted() const {
  std::vector<pollfd> all{{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  for (const auto& client : clients_)
    all.push_back({client.socket.get(),
                   static_cast<short>(client.phase == Phase::answering ? POLLOUT : POLLIN), 0});
  return all;
}

int StatusServer::Impl::wait_ms() const {
  if (clients_.empty()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(clients_.front().deadline - clock_.monotonic());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

void StatusServer::Impl::run() {
  for (;;) {
    auto ready = wanted();
    (void)::poll(ready.data(), ready.size(), wait_ms());  // if it failed, nobody is ready
    if (ready[0].revents != 0) return;
    std::size_t i = 2;
    const auto now = clock_.monotonic();
    std::erase_if(clients_, [&](Connection& client) {
      const bool answered = ready[i++].revents != 0 && !serve(client);
      return answered || client.deadline <= now;
    });
    if (ready[1].revents != 0) accept_all();
  }
}

void StatusServer::Impl::accept_all() {
  for (std::size_t i = 0; i < options_.connections_max; ++i) {
    Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.ok()) {
      // No descriptor left, say: poll() would only send us back here at once.
      if (errno != EAGAIN) clock_.sleep(accept_pause);
      return;
    }
    if (clients_.size() >= options_.connections_max) clients_.pop_front();
    clients_.push_back({std::move(socket), clock_.monotonic() + options_.client_timeout, {}, {}});
  }
}

bool StatusServer::Impl::serve(Connection& client) {
  return client.phase == Phase::answering ? write_some(client) : read_some(client);
}

bool StatusServer::Impl::read_some(Connection& client) {
  char bytes[read_bytes];
  const auto count = ::recv(client.socket.get(), bytes, sizeof bytes, 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  if (client.phase == Phase::leaving) return true;
  client.request.append(bytes, static_cast<std::size_t>(count));
  const bool whole = client.request.find(headers_end) != std::string::npos;
  if (!whole && client.request.size() < request_bytes_max + headers_end.size()) return true;
  client.answer = answer_to(client.request, source_);
  client.phase = Phase::answering;
  return write_some(client);
}

bool StatusServer::Impl::write_some(Connection& client) {
  const auto count =
      ::send(client.socket.get(), client.answer.data(), client.answer.size(), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  client.answer.erase(0, static_cast<std::size_t>(count));
  if (!client.answer.empty()) return true;
  client.phase = Phase::leaving;
  return ::shutdown(client.socket.get(), SHUT_WR) == 0;
}

StatusServer::StatusServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StatusServer::~StatusServer() = default;

Result<std::unique_ptr<StatusServer>> StatusServer::start(const StatusServerOptions& options,
                                                          StatusSource& source) {
  auto impl = std::make_unique<Impl>(options, source);
  FAULTLINE_TRY(impl->start());
  return std::unique_ptr<StatusServer>(new StatusServer(std::move(impl)));
}

std::string StatusServer::address() const { return impl_->address(); }

}  // namespace faultline
