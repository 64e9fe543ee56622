#include "apps/doctor_checks.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "adapters/agent_socket/unix_door.h"
#include "adapters/http/status_server.h"
#include "adapters/local/state_folder.h"
#include "adapters/pki/authority.h"
#include "store/store.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using testing::HasSubstr;

class Doctor : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("faultline-doctor-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string certificate(Instant from, Instant until) {
    const auto pair = make_authority("test", from, until);
    EXPECT_TRUE(pair.ok());
    const auto file = folder_ / "a.crt";
    std::ofstream(file) << pair->certificate;
    return file.string();
  }

  /// An authority in `name`, with a certificate and key of each of `requests`.
  std::string authority(const std::string& name, const std::vector<IssueRequest>& requests) {
    const ManualClock clock(now_);
    const std::string pki = (folder_ / name).string();
    EXPECT_TRUE(init_authority(pki, 1000, false, clock).ok());
    for (const auto& request : requests) EXPECT_TRUE(issue(pki, request, clock).ok());
    return pki;
  }

  std::string local_state() {
    const auto state = folder_ / "cluster";
    EXPECT_TRUE(
        StateFolder(state)
            .create({LocalNode{"n1", false, false, "", ""}, LocalNode{"n2", false, false, "", ""}})
            .ok());
    return state.string();
  }

  fs::path folder_;
  Instant now_ = Instant{std::chrono::sys_days{std::chrono::year{2026} / 11 / 29}};
};

TEST_F(Doctor, TheShippedCatalogIsWell) {
  EXPECT_EQ(check_catalog(FAULTLINE_SOURCE_CATALOG_DIR).state, CheckState::ok);
  const auto missing = check_catalog((folder_ / "none").string());
  EXPECT_EQ(missing.state, CheckState::failed);
  EXPECT_FALSE(missing.remedy.empty());
}

TEST_F(Doctor, AnEndedCertificateFailsAndOneAboutToEndWarns) {
  EXPECT_EQ(
      check_certificate("c", certificate(now_ - hours{48}, now_ + hours{24 * 31}), now_).state,
      CheckState::ok);
  EXPECT_EQ(
      check_certificate("c", certificate(now_ - hours{48}, now_ + hours{24 * 29}), now_).state,
      CheckState::warning);
  EXPECT_EQ(check_certificate("c", certificate(now_ - hours{48}, now_), now_).state,
            CheckState::failed);
  EXPECT_EQ(check_certificate("c", certificate(now_ + hours{1}, now_ + hours{99}), now_).state,
            CheckState::failed);
  EXPECT_EQ(check_certificate("c", "", now_).state, CheckState::failed);
}

TEST_F(Doctor, AStoreThatIsDamagedFailsAndAMissingOneOnlyWarns) {
  EXPECT_EQ(check_store((folder_ / "none.db").string()).state, CheckState::warning);
  std::ofstream(folder_ / "junk.db") << std::string(5000, 'x');
  EXPECT_EQ(check_store((folder_ / "junk.db").string()).state, CheckState::failed);
}

TEST_F(Doctor, AStoreOfAnotherUserIsNotTakenForDamaged) {
  const fs::path folder = folder_ / "theirs";
  fs::create_directory(folder);
  const std::string file = (folder / "faultline.db").string();
  ASSERT_TRUE(Store::open(file, Access::read_write).ok());
  EXPECT_EQ(check_store(file).state, CheckState::ok);
  const auto theirs = [](const fs::path& path) {
    ASSERT_EQ(::chmod(path.c_str(), 0), 0);
    if (::geteuid() == 0) {  // to root nothing is closed
      ASSERT_EQ(::seteuid(65534), 0);
    }
  };
  const auto expect_not_ours = [&](const std::string& file_name) {
    const auto check = check_store(file_name);
    EXPECT_EQ(check.state, CheckState::failed);
    EXPECT_EQ(check.remedy, "run doctor as the user that runs `faultline serve`") << check.detail;
    if (::getuid() == 0) {
      ASSERT_EQ(::seteuid(0), 0);
    }
  };
  theirs(file);
  expect_not_ours(file);
  theirs(folder);
  expect_not_ours(file);
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
}

TEST_F(Doctor, OnlyADamagedStoreIsReplacedByItsBackup) {
  const std::string script = (folder_ / "start.sh").string();
  std::ofstream(script) << "#!/bin/sh\nexec faultline serve\n";
  EXPECT_EQ(check_store(script).remedy, "correct --store");
  EXPECT_THAT(check_store(script).detail, HasSubstr("another program's file"));
  const std::string junk = (folder_ / "junk.db").string();
  std::ofstream(junk) << std::string(5000, '\x01');
  EXPECT_EQ(check_store(junk).remedy, "move it aside and put back a backup");
}

TEST_F(Doctor, AStoreIsAsWellAsItsLog) {
  const fs::path file = folder_ / "faultline.db";
  const auto store = Store::open(file, Access::read_write);
  ASSERT_TRUE(store.ok());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE((*store)->put_value("x", std::to_string(i)).ok());
  EXPECT_EQ(check_store(file.string()).state, CheckState::ok);
  const fs::path copy = folder_ / "copy.db";
  const std::string log = copy.string() + "-wal";
  fs::copy_file(file, copy);
  fs::copy_file(file.string() + "-wal", log);
  std::fstream(log, std::ios::in | std::ios::out | std::ios::binary).seekp(32 + 24 + 9) << "!!";
  EXPECT_EQ(check_store(copy.string()).state, CheckState::failed);
  EXPECT_THAT(check_store(copy.string()).detail, HasSubstr("copy.db-wal is damaged"));
  fs::resize_file(log, 0);
  EXPECT_EQ(check_store(copy.string()).state, CheckState::warning);
  EXPECT_THAT(check_store(copy.string()).detail, HasSubstr("there is nothing in"));
}

TEST_F(Doctor, AnAgentThatListensIsWellAndADeadOneIsSaid) {
  const std::string socket = (folder_ / "agent.sock").string();
  const auto missing = check_agent_answers(socket);
  EXPECT_EQ(missing.state, CheckState::warning);
  EXPECT_THAT(missing.detail, HasSubstr(socket));
  const ManualClock clock(now_);
  Counters counters;
  {
    const auto door = UnixDoor::listen(socket, clock, counters);
    ASSERT_TRUE(door.ok());
    EXPECT_EQ(check_agent_answers(socket).state, CheckState::ok);
  }
  std::ofstream(folder_ / "left.sock") << "";  // of an agent that was killed: a name, no listener
  EXPECT_EQ(check_agent_answers((folder_ / "left.sock").string()).state, CheckState::warning);
}

TEST_F(Doctor, AKernelLogIsThereOrSaysWhatToDo) {
  std::ofstream(folder_ / "kern.log") << "";
  EXPECT_EQ(check_kernel_log((folder_ / "kern.log").string()).state, CheckState::ok);
  const auto missing = check_kernel_log((folder_ / "none.log").string());
  EXPECT_EQ(missing.state, CheckState::failed);
  EXPECT_THAT(missing.detail, HasSubstr("No such file"));
  const auto folder = check_kernel_log(folder_.string());
  EXPECT_EQ(folder.state, CheckState::failed) << "it can be opened, and no line comes of it";
  EXPECT_THAT(folder.detail, HasSubstr("not a regular file"));
  EXPECT_EQ(check_kernel_log("journal:" + folder_.string()).state, CheckState::ok);
  const auto journal = check_kernel_log("journal:" + (folder_ / "none").string());
  EXPECT_EQ(journal.state, CheckState::failed);
  EXPECT_THAT(journal.detail, HasSubstr("none"));
}

TEST_F(Doctor, AFolderIsThereOrCanBeMade) {
  EXPECT_NE(check_writable_folder("f", folder_.string()).state, CheckState::failed);
  for (const char* missing : {"none", "none/below", "none/"}) {
    const auto check = check_writable_folder("f", (folder_ / missing).string());
    EXPECT_NE(check.state, CheckState::failed) << missing;
    EXPECT_THAT(check.detail, HasSubstr("is made at the start")) << missing;
  }
  EXPECT_FALSE(fs::exists(folder_ / "none")) << "a look changes nothing";
  EXPECT_THAT(check_writable_folder("f", "").detail, HasSubstr(". can be written"));
}

TEST_F(Doctor, AFolderThatCannotBeMadeFails) {
  std::ofstream(folder_ / "file") << "";
  for (const char* place : {"file", "file/below"})
    EXPECT_EQ(check_writable_folder("f", (folder_ / place).string()).state, CheckState::failed)
        << place;
  fs::create_symlink(folder_ / "none", folder_ / "dangling");
  EXPECT_EQ(check_writable_folder("f", (folder_ / "dangling").string()).state, CheckState::failed);
  // Root may write everywhere; somebody else may not in root's folder.
  if (::geteuid() != 0) return;
  EXPECT_EXIT(
      {
        const bool dropped = ::setuid(65534) == 0;
        const auto check = check_writable_folder("f", (folder_ / "none").string());
        std::_Exit(dropped && check.state == CheckState::failed ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(Doctor, AKeyOfAnotherCertificateFails) {
  const auto pki = authority("pki", {{.name = "n3"}, {.name = "n4"}});
  EXPECT_EQ(check_key_fits(pki + "/n3.crt", pki + "/n3.key").state, CheckState::ok);
  const auto other = check_key_fits(pki + "/n3.crt", pki + "/n4.key");
  EXPECT_EQ(other.state, CheckState::failed);
  EXPECT_THAT(other.detail, HasSubstr("n4.key"));
  EXPECT_FALSE(other.remedy.empty());
  EXPECT_EQ(check_key_fits(pki + "/n3.crt", pki + "/n3.crt").state, CheckState::failed);
}

TEST_F(Doctor, AnAuthorityThatDidNotSignFails) {
  const auto pki = authority("pki", {{.name = "n3"}});
  const auto other = authority("other", {});
  EXPECT_EQ(check_signed_by(pki + "/n3.crt", pki + "/ca.crt").state, CheckState::ok);
  const auto foreign = check_signed_by(pki + "/n3.crt", other + "/ca.crt");
  EXPECT_EQ(foreign.state, CheckState::failed);
  EXPECT_THAT(foreign.remedy, HasSubstr("ca.crt"));
}

TEST_F(Doctor, ARoleMustFit) {
  const auto pki = authority("pki", {{.name = "n3"},
                                     {.name = "ctl", .role = PeerRole::controller},
                                     {.name = "ann", .role = PeerRole::operators}});
  EXPECT_EQ(check_role_fits(pki + "/n3.crt", PeerRole::agent).state, CheckState::ok);
  EXPECT_EQ(check_role_fits(pki + "/ctl.crt", PeerRole::controller).state, CheckState::ok);
  EXPECT_EQ(check_role_fits(pki + "/ctl.crt", PeerRole::agent).state, CheckState::failed);
  EXPECT_EQ(check_role_fits(pki + "/ann.crt", PeerRole::agent).state, CheckState::failed);
  const auto agent = check_role_fits(pki + "/n3.crt", PeerRole::controller);
  EXPECT_EQ(agent.state, CheckState::failed);
  EXPECT_THAT(agent.detail, HasSubstr("is for the role agent, not for controller"));
  EXPECT_THAT(agent.remedy, HasSubstr("--role controller"));
  // The authority's own has no role at all.
  EXPECT_EQ(check_role_fits(pki + "/ca.crt", PeerRole::controller).state, CheckState::failed);
}

TEST_F(Doctor, AnAgentsCertificateIsOfItsNode) {
  const auto pki = authority("pki", {{.name = "n3"}});
  EXPECT_EQ(check_node_name(pki + "/n3.crt", "n3").state, CheckState::ok);
  const auto other = check_node_name(pki + "/n3.crt", "n33");
  EXPECT_EQ(other.state, CheckState::failed);
  EXPECT_THAT(other.detail, HasSubstr("'n33'"));
}

TEST_F(Doctor, AKeyIsItsOwnersAlone) {
  const auto key = authority("pki", {{.name = "n3"}}) + "/n3.key";
  for (const mode_t mode : {0600U, 0400U}) {
    ASSERT_EQ(::chmod(key.c_str(), mode), 0);
    EXPECT_EQ(check_key_file(key).state, CheckState::ok) << mode;
  }
  for (const mode_t mode : {0644U, 0640U, 0604U, 0620U, 0602U}) {
    ASSERT_EQ(::chmod(key.c_str(), mode), 0);
    const auto open = check_key_file(key);
    EXPECT_EQ(open.state, CheckState::failed) << mode;
    EXPECT_THAT(open.remedy, HasSubstr("chmod 600 " + key));
  }
  EXPECT_EQ(check_key_file("").state, CheckState::failed);
  EXPECT_EQ(check_key_file(key + ".none").state, CheckState::failed);
  EXPECT_EQ(check_key_file(folder_.string()).state, CheckState::failed);
}

TEST_F(Doctor, TheLocalSchedulersFolderIsThereAndWhole) {
  const auto state = local_state();
  const auto well = check_local_state(state, ::geteuid());
  EXPECT_EQ(well.state, CheckState::ok) << well.detail;
  EXPECT_THAT(well.detail, HasSubstr("2 nodes"));
  EXPECT_EQ(check_local_state("", ::geteuid()).state, CheckState::failed);
  EXPECT_EQ(check_local_state(state + "-none", ::geteuid()).state, CheckState::failed);
  EXPECT_EQ(check_local_state(state + "/cluster.json", ::geteuid()).state, CheckState::failed);
  EXPECT_THAT(check_local_state(state + "/jobs", ::geteuid()).detail, HasSubstr("local init"));
  fs::remove(fs::path(state) / "jobs");
  EXPECT_EQ(check_local_state(state, ::geteuid()).state, CheckState::failed);
  fs::create_directory(fs::path(state) / "jobs");
  std::ofstream(fs::path(state) / "cluster.json") << "{";
  EXPECT_EQ(check_local_state(state, ::geteuid()).state, CheckState::failed);
}

TEST_F(Doctor, TheLocalSchedulersFolderIsLookedAtWhileAControllerHoldsIt) {
  const StateFolder state{local_state()};
  const auto lock = FileLock::take(state.lock_file(), false);
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(check_local_state(state.root().string(), ::geteuid()).state, CheckState::ok);
}

TEST_F(Doctor, TheLocalSchedulersFolderIsOurs) {
  const auto state = local_state();
  EXPECT_EQ(check_local_state(state, ::geteuid() + 1).state, CheckState::failed);
  ASSERT_EQ(::chmod(state.c_str(), 0755), 0);
  EXPECT_EQ(check_local_state(state, ::geteuid()).state, CheckState::ok);
  for (const mode_t mode : {0770U, 0707U}) {
    ASSERT_EQ(::chmod(state.c_str(), mode), 0);
    EXPECT_EQ(check_local_state(state, ::geteuid()).state, CheckState::failed) << mode;
  }
  ASSERT_EQ(::chmod(state.c_str(), 0700), 0);
  // Root looks after a service that runs as another user.
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(state.c_str(), 1, 1), 0);
  }
  EXPECT_EQ(check_local_state(state, 0).state, CheckState::warning);
}

class FakeStatus final : public StatusSource {
 public:
  explicit FakeStatus(Health shown) : shown_(std::move(shown)) {}
  Health health() override { return shown_; }
  std::vector<Metric> metrics() override { return {}; }

 private:
  Health shown_;
};

/// A port of this machine that is taken; nobody answers before listen().
class TakenPort {
 public:
  TakenPort() {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof name;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&name), length), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&name), &length), 0);
    port_ = std::to_string(ntohs(name.sin_port));
  }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;
  ~TakenPort() { ::close(socket_); }
  void listen() const { EXPECT_EQ(::listen(socket_, 1), 0); }
  /// Takes one connection and closes it without a word.
  void hang_up() const { ::close(::accept(socket_, nullptr, nullptr)); }
  [[nodiscard]] std::string at(const std::string& host) const { return host + ":" + port_; }

 private:
  int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string port_;
};

TEST_F(Doctor, AServeThatSaysOkIsWell) {
  FakeStatus status({true, {}});
  const auto server = StatusServer::start({"127.0.0.1:0"}, status);
  ASSERT_TRUE(server.ok());
  const auto at = (*server)->address();
  EXPECT_EQ(check_serve_answers(at).state, CheckState::ok);
  EXPECT_EQ(check_serve_answers("0.0.0.0" + at.substr(at.rfind(':'))).state, CheckState::ok);
}

TEST_F(Doctor, AServeThatIsNotWellFailsWithItsReasons) {
  FakeStatus status({false, {"the store cannot be written"}});
  const auto server = StatusServer::start({"127.0.0.1:0"}, status);
  ASSERT_TRUE(server.ok());
  const auto check = check_serve_answers((*server)->address());
  EXPECT_EQ(check.state, CheckState::failed);
  EXPECT_THAT(check.detail, HasSubstr("the store cannot be written"));
}

TEST_F(Doctor, WhatAServeThatIsWellHasToSayIsShown) {
  FakeStatus status({true, {"faultline.db-wal is damaged"}});
  const auto server = StatusServer::start({"127.0.0.1:0"}, status);
  ASSERT_TRUE(server.ok());
  const auto check = check_serve_answers((*server)->address());
  EXPECT_EQ(check.state, CheckState::warning);
  EXPECT_THAT(check.detail, HasSubstr("faultline.db-wal is damaged"));
}

TEST_F(Doctor, AServeThatIsNotUpOnlyWarns) {
  const TakenPort port;
  const auto check = check_serve_answers(port.at("127.0.0.1"));
  EXPECT_EQ(check.state, CheckState::warning);
  EXPECT_THAT(check.remedy, HasSubstr("faultline serve"));
  EXPECT_EQ(check_serve_answers("").state, CheckState::ok);
  EXPECT_EQ(check_serve_answers("127.0.0.1:0").state, CheckState::ok);
  EXPECT_EQ(check_serve_answers("9177").state, CheckState::failed);
}

TEST_F(Doctor, AnotherProgramOnThePortOfServeFails) {
  const TakenPort port;
  port.listen();
  std::thread other([&] { port.hang_up(); });
  EXPECT_EQ(check_serve_answers(port.at("127.0.0.1")).state, CheckState::failed);
  other.join();
  httplib::Server web;  // answers 404
  const int web_port = web.bind_to_any_port("127.0.0.1");
  std::thread serving([&] { web.listen_after_bind(); });
  EXPECT_EQ(check_serve_answers("127.0.0.1:" + std::to_string(web_port)).state, CheckState::failed);
  web.stop();
  serving.join();
}

}  // namespace
}  // namespace faultline
