// Server and client together over loopback, for tests. Deadlines are long where an answer is
// expected and short where none can come, so nothing depends on how busy the machine is.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "adapters/grpc/client.h"
#include "adapters/grpc/fake_controller.h"
#include "adapters/grpc/server.h"
#include "adapters/pki/authority.h"

namespace faultline {

inline constexpr Duration long_enough = std::chrono::seconds{60};
inline constexpr Duration nothing_comes = std::chrono::milliseconds{300};

inline Event event_of(const std::string& node, std::uint64_t number,
                      std::string text = "NVRM: Xid 79") {
  Event event;
  event.source = EventSource::kernel_log;
  event.kind = EventKind::log_signature;
  event.reporter = node;
  event.subject = Subject::of_node(node);
  event.observed_at = Instant{std::chrono::seconds{1'790'000'000}};
  event.signature = "xid.79";
  event.raw = {"/dev/kmsg", number, "b0", std::move(text)};
  event.id = make_event_id(event);
  return event;
}

class Transport : public testing::Test {
 protected:
  Transport() {
    std::string pattern = testing::TempDir() + "transport.XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~Transport() override {
    controller.release();
    uplinks.clear();
    server.reset();
    std::filesystem::remove_all(folder);
  }

  void start_server(std::optional<TlsFiles> tls = std::nullopt,
                    const std::function<void(GrpcServerOptions&)>& change = {}) {
    GrpcServerOptions options;
    options.listen = address.empty() ? "127.0.0.1:0" : address;
    options.tls = std::move(tls);
    options.ruling_poll = std::chrono::milliseconds{10};
    options.warn = [this](const std::string& text) { server_warnings.push_back(text); };
    if (change) change(options);
    auto started =
        GrpcServer::start(options, controller, controller, *server_clock, server_counters);
    ASSERT_TRUE(started.ok()) << started.error().message;
    server = std::move(started).value();
    address = server->address();
  }

  GrpcUplink& uplink(const std::string& node, std::optional<TlsFiles> tls = std::nullopt,
                     const std::string& at = "") {
    GrpcUplinkOptions options;
    options.controller = {at.empty() ? address : at, std::move(tls), "ctl"};
    options.node = node;
    options.connect_deadline = long_enough;
    options.warn = [this](const std::string& text) { warnings.push_back(text); };
    uplinks.push_back(std::make_unique<GrpcUplink>(options, clock, Rng(1), counters));
    return *uplinks.back();
  }

  void make_authority() {
    ASSERT_TRUE(init_authority(folder, authority_days_default, false, system_clock).ok());
    certify("ctl", PeerRole::controller);
  }
  TlsFiles files(const std::string& name) const {
    return {folder + "/ca.crt", folder + "/" + name + ".crt", folder + "/" + name + ".key"};
  }
  TlsFiles certify(const std::string& name, PeerRole role) {
    IssueRequest request;
    request.name = name;
    request.role = role;
    const auto issued = issue(folder, request, system_clock);
    EXPECT_TRUE(issued.ok());
    return files(name);
  }

  std::string folder;
  std::string address;
  SystemClock system_clock;
  const Clock* server_clock = &system_clock;
  ManualClock clock{SystemClock().now()};  // of the uplinks: waits pass when the test says so
  FakeController controller;
  Counters server_counters;
  Counters counters;
  std::vector<std::string> server_warnings;
  std::vector<std::string> warnings;
  std::unique_ptr<GrpcServer> server;
  std::vector<std::unique_ptr<GrpcUplink>> uplinks;
};

}  // namespace faultline
