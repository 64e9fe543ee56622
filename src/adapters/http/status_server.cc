#include "adapters/http/status_server.h"

#include <httplib.h>
#include <netdb.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t threads = 2;
constexpr std::size_t waiting_max = 32;  // connections in line; more are closed at once
constexpr std::size_t body_bytes_max = 1024;
constexpr std::size_t requests_per_connection_max = 100;
constexpr std::size_t reasons_max = 64;
constexpr time_t timeout_s = 5;
constexpr time_t idle_s = 5;

/// The library's own pool has no limit on its line: a few thousand slow clients would take all
/// memory.
class BoundedPool final : public httplib::TaskQueue {
 public:
  BoundedPool() : pool_(threads) {}
  void enqueue(std::function<void()> job) override {
    // The job closes its connection; dropped, it would leak it. So what is too much runs on the
    // accepting thread, which then accepts no more meanwhile: the kernel's backlog is the bound.
    if (waiting_ >= waiting_max) return job();
    ++waiting_;
    pool_.enqueue([this, job = std::move(job)] {
      --waiting_;
      job();
    });
  }
  void shutdown() override { pool_.shutdown(); }

 private:
  std::atomic<std::size_t> waiting_ = 0;
  httplib::ThreadPool pool_;
};

Result<std::pair<std::string, int>> host_and_port(const std::string& listen) {
  const auto colon = listen.rfind(':');
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : parse_number<std::uint16_t>(listen.substr(colon + 1));
  std::string host = listen.substr(0, colon == std::string::npos ? 0 : colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  if (!port || host.empty())
    return Error{ErrorCode::invalid_argument, "not HOST:PORT: '" + printable(listen, 80) + "'"};
  return std::pair{host, static_cast<int>(*port)};
}

std::string health_body(const Health& health) {
  nlohmann::json body{{"status", health.ok ? "ok" : "unhealthy"},
                      {"reasons", nlohmann::json::array()}};
  for (const auto& reason : health.reasons) {
    if (body["reasons"].size() >= reasons_max) break;
    body["reasons"].push_back(printable(reason, 512));
  }
  return body.dump() + "\n";
}

}  // namespace

class StatusServer::Impl {
 public:
  explicit Impl(StatusSource& source) {
    server_.new_task_queue = [] { return new BoundedPool; };
    // A restart must not wait for the connections of the life before; the library's own choice,
    // SO_REUSEPORT, would also let a second server listen beside us.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server_.set_payload_max_length(body_bytes_max);
    server_.set_keep_alive_max_count(requests_per_connection_max);
    server_.set_keep_alive_timeout(idle_s);
    server_.set_read_timeout(timeout_s);
    server_.set_write_timeout(timeout_s);
    server_.Get("/healthz", [&source](const httplib::Request&, httplib::Response& response) {
      const Health health = source.health();
      response.status = health.ok ? 200 : 503;
      response.set_content(health_body(health), "application/json");
    });
    server_.Get("/metrics", [&source](const httplib::Request&, httplib::Response& response) {
      response.set_content(prometheus_text(source.metrics()),
                           "text/plain; version=0.0.4; charset=utf-8");
    });
    server_.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty())
        response.set_content("faultline: GET /healthz or /metrics\n", "text/plain");
    });
  }
  ~Impl() {
    if (!thread_.joinable()) return;
    // stop() before the thread listens would be lost.
    while (!server_.is_running()) std::this_thread::yield();
    server_.stop();
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status listen(const std::string& listen_at) {
    const auto where = host_and_port(listen_at);
    if (!where) return where.error();
    const auto& [host, port] = *where;
    int taken = port;
    if (port == 0) {
      taken = server_.bind_to_any_port(host);
    } else if (!server_.bind_to_port(host, port)) {
      taken = -1;
    }
    if (taken <= 0)
      return Error{ErrorCode::unavailable,
                   "cannot listen on " + listen_at + ": is the port taken?"};
    address_ = listen_at.substr(0, listen_at.rfind(':') + 1) + std::to_string(taken);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    return ok_status();
  }
  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  httplib::Server server_;
  std::string address_;
  std::thread thread_;
};

StatusServer::StatusServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StatusServer::~StatusServer() = default;

Result<std::unique_ptr<StatusServer>> StatusServer::start(const StatusServerOptions& options,
                                                          StatusSource& source) {
  auto impl = std::make_unique<Impl>(source);
  FAULTLINE_TRY(impl->listen(options.listen));
  return std::unique_ptr<StatusServer>(new StatusServer(std::move(impl)));
}

std::string StatusServer::address() const { return impl_->address(); }

}  // namespace faultline
