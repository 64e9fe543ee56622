// `faultline doctor` over whole set-ups: what it shows of a good one, and that each way to break it
// is told and changes the exit code.
#include "apps/doctor_command.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "adapters/agent_socket/unix_door.h"
#include "adapters/http/status_server.h"
#include "adapters/local/state_folder.h"
#include "adapters/pki/authority.h"
#include "apps/output.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class FakeStatus final : public StatusSource {
 public:
  Health health() override { return {}; }
  std::vector<Metric> metrics() override { return {}; }
};

class DoctorCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "doctor-command-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    make_authority_in("pki");
    make_authority_in("other");
    fs::create_directory(root_ / "agent");
    std::ofstream(root_ / "kern.log") << "";
    ASSERT_TRUE(
        StateFolder(root_ / "cluster").create({LocalNode{"n1", false, false, "", ""}}).ok());
    auto server = StatusServer::start({"127.0.0.1:0"}, status_);
    ASSERT_TRUE(server.ok());
    server_ = std::move(server).value();
    listen_ = server_->address();
    ca_ = (root_ / "pki").string();
    serve_cert_ = in_pki("ctl.crt");
    serve_key_ = in_pki("ctl.key");
    agent_cert_ = in_pki("n3.crt");
    agent_key_ = in_pki("n3.key");
    options_.catalog = FAULTLINE_SOURCE_CATALOG_DIR;
    options_.json = true;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void make_authority_in(const std::string& name) const {
    const SystemClock clock;
    const auto pki = (root_ / name).string();
    ASSERT_TRUE(init_authority(pki, 1000, false, clock).ok());
    ASSERT_TRUE(issue(pki, {.name = "n3"}, clock).ok());
    ASSERT_TRUE(issue(pki, {.name = "ctl", .role = PeerRole::controller}, clock).ok());
  }

  static std::string tls(const std::string& pki, const std::string& certificate,
                         const std::string& key) {
    return "tls-ca = \"" + pki + "/ca.crt\"\ntls-cert = \"" + certificate + "\"\ntls-key = \"" +
           key + "\"\n";
  }
  [[nodiscard]] std::string in_pki(const std::string& name) const {
    return (root_ / "pki" / name).string();
  }

  /// Both configurations, as good as the fields say.
  void write_configs() {
    const std::string folder = root_.string();
    options_.serve_config = folder + "/serve.toml";
    std::ofstream(options_.serve_config)
        << "store = \"" << folder << "/faultline.db\"\nscheduler = \"local\"\nlocal-state = \""
        << folder << "/cluster\"\nstatus-listen = \"" << listen_ << "\"\n"
        << tls(ca_, serve_cert_, serve_key_);
    options_.agent_config = folder + "/agent.toml";
    std::ofstream(options_.agent_config)
        << "state = \"" << folder << "/agent\"\nsocket = \"" << folder
        << "/%n.sock\"\nkernel-log = \"" << folder << "/kern.log\"\nno-nvml = true\n"
        << (node_.empty() ? "" : "node = \"" + node_ + "\"\n") << tls(ca_, agent_cert_, agent_key_);
  }

  /// Returns the exit code; what was printed is in out_ and, by check, in states_.
  int doctor(bool agent) {
    options_.agent = agent;
    options_.controller = !agent;
    write_configs();
    if (missing_config_) fs::remove(agent ? options_.agent_config : options_.serve_config);
    testing::internal::CaptureStdout();
    const int code = doctor_main(options_, [this](const AgentOptions& as) {
      reached_as_ = as.node;
      return ok_status();
    });
    out_ = testing::internal::GetCapturedStdout();
    states_.clear();
    if (!options_.json) return code;
    const auto shown = nlohmann::json::parse(out_);
    for (const auto& check : shown["checks"]) {
      states_[check["check"]] = check["state"];
      const bool well = check["state"] == "ok";
      EXPECT_EQ(check["remedy"].get<std::string>().empty(), well) << check;
      EXPECT_THAT(check["detail"].get<std::string>(), Not(IsEmpty())) << check;
    }
    return code;
  }

  /// The names of the checks that failed, in alphabetical order.
  [[nodiscard]] std::vector<std::string> failed() const {
    std::vector<std::string> names;
    for (const auto& [name, state] : states_)
      if (state == "failed") names.push_back(name);
    return names;
  }

  using Names = std::vector<std::string>;
  fs::path root_;
  FakeStatus status_;
  std::unique_ptr<StatusServer> server_;
  DoctorOptions options_;
  std::string node_ = "n3";
  bool missing_config_ = false;
  std::string listen_;
  std::string ca_, serve_cert_, serve_key_, agent_cert_, agent_key_;
  std::map<std::string, std::string> states_;
  std::string out_, reached_as_;
};

TEST_F(DoctorCommand, AGoodControllerIsApproved) {
  EXPECT_EQ(doctor(false), exit_ok) << out_;
  for (const auto* name : {"catalog", "certificate", "authority", "private key",
                           "key of certificate", "signature", "role", "scheduler", "serve"})
    EXPECT_EQ(states_[name], "ok") << name << out_;
  EXPECT_EQ(states_.count("node name"), 0U);  // a controller has any name
}

TEST_F(DoctorCommand, AGoodAgentIsApproved) {
  EXPECT_EQ(doctor(true), exit_ok) << out_;
  for (const auto* name : {"certificate", "authority", "private key", "key of certificate",
                           "signature", "role", "node name", "controller"})
    EXPECT_EQ(states_[name], "ok") << name << out_;
  EXPECT_EQ(states_.count("serve"), 0U);
  EXPECT_EQ(states_.count("scheduler"), 0U);
}

TEST_F(DoctorCommand, ADeadAgentIsSaidThoughItsControllerAnswers) {
  EXPECT_EQ(doctor(true), exit_ok) << out_;
  EXPECT_EQ(states_["controller"], "ok");
  EXPECT_EQ(states_["agent"], "warning") << out_;
  EXPECT_THAT(out_, HasSubstr((root_ / "n3.sock").string()));
  const SystemClock clock;
  Counters counters;
  const auto door = UnixDoor::listen((root_ / "n3.sock").string(), clock, counters);
  ASSERT_TRUE(door.ok());
  EXPECT_EQ(doctor(true), exit_ok) << out_;
  EXPECT_EQ(states_["agent"], "ok") << out_;
}

TEST_F(DoctorCommand, AnAgentsCertificateOnTheControllerFails) {
  serve_cert_ = in_pki("n3.crt");
  serve_key_ = in_pki("n3.key");
  EXPECT_EQ(doctor(false), exit_failed);
  EXPECT_EQ(failed(), Names{"role"}) << out_;
}

TEST_F(DoctorCommand, TheControllersCertificateOnAnAgentFails) {
  agent_cert_ = in_pki("ctl.crt");
  agent_key_ = in_pki("ctl.key");
  EXPECT_EQ(doctor(true), exit_failed);
  EXPECT_EQ(failed(), (Names{"node name", "role"})) << out_;
}

TEST_F(DoctorCommand, AKeyOfAnotherCertificateFails) {
  serve_key_ = in_pki("n3.key");
  agent_key_ = in_pki("ctl.key");
  EXPECT_EQ(doctor(false), exit_failed);
  EXPECT_EQ(failed(), Names{"key of certificate"}) << out_;
  EXPECT_EQ(doctor(true), exit_failed);
  EXPECT_EQ(failed(), Names{"key of certificate"}) << out_;
}

TEST_F(DoctorCommand, AnAuthorityThatDidNotSignFails) {
  ca_ = (root_ / "other").string();
  EXPECT_EQ(doctor(false), exit_failed);
  EXPECT_EQ(failed(), Names{"signature"}) << out_;
  EXPECT_EQ(doctor(true), exit_failed);
  EXPECT_EQ(failed(), Names{"signature"}) << out_;
}

TEST_F(DoctorCommand, AKeyThatOthersReadFails) {
  ASSERT_EQ(::chmod(in_pki("ctl.key").c_str(), 0644), 0);
  ASSERT_EQ(::chmod(in_pki("n3.key").c_str(), 0640), 0);
  EXPECT_EQ(doctor(false), exit_failed);
  EXPECT_EQ(failed(), Names{"private key"}) << out_;
  EXPECT_EQ(doctor(true), exit_failed);
  EXPECT_EQ(failed(), Names{"private key"}) << out_;
}

TEST_F(DoctorCommand, ACertificateOfAnotherNodeFails) {
  node_ = "n4";
  EXPECT_EQ(doctor(true), exit_failed);
  EXPECT_EQ(failed(), Names{"node name"}) << out_;
}

TEST_F(DoctorCommand, WithoutANodeTheAgentsOwnChoiceCounts) {
  node_ = "";
  ASSERT_EQ(::setenv("SLURMD_NODENAME", "n3", 1), 0);
  EXPECT_EQ(doctor(true), exit_ok) << out_;
  EXPECT_EQ(reached_as_, "n3");
  ASSERT_EQ(::setenv("SLURMD_NODENAME", "n5", 1), 0);
  EXPECT_EQ(doctor(true), exit_failed);
  EXPECT_EQ(failed(), Names{"node name"}) << out_;
  ASSERT_EQ(::unsetenv("SLURMD_NODENAME"), 0);
}

TEST_F(DoctorCommand, FilesThatAreMissingFailOnceAndAreNotCompared) {
  serve_cert_ = in_pki("none.crt");
  EXPECT_EQ(doctor(false), exit_failed);
  EXPECT_EQ(failed(), Names{"certificate"}) << out_;
  serve_cert_ = in_pki("ctl.crt");
  serve_key_ = in_pki("none.key");
  EXPECT_EQ(doctor(false), exit_failed);
  EXPECT_EQ(failed(), Names{"private key"}) << out_;
  serve_key_ = in_pki("ctl.key");
  ca_ = (root_ / "none").string();
  EXPECT_EQ(doctor(false), exit_failed);
  EXPECT_EQ(failed(), Names{"authority"}) << out_;
}

TEST_F(DoctorCommand, AConfigurationThatIsNamedAndMissingIsTheOnlyFault) {
  for (const bool agent : {true, false}) {
    missing_config_ = true;
    EXPECT_EQ(doctor(agent), exit_failed);
    EXPECT_EQ(failed(), Names{agent ? "agent configuration" : "serve configuration"}) << out_;
    EXPECT_EQ(states_.size(), 2U) << "the catalog, and no word about defaults: " << out_;
  }
  EXPECT_EQ(reached_as_, "");
  // Named without --agent it is asked about all the same.
  DoctorOptions options;
  options.catalog = FAULTLINE_SOURCE_CATALOG_DIR;
  options.agent_config = (root_ / "none.toml").string();
  testing::internal::CaptureStdout();
  EXPECT_EQ(doctor_main(options, [](const AgentOptions&) { return ok_status(); }), exit_failed);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("none.toml is not there"));
}

TEST_F(DoctorCommand, AnAgentWithoutCertificatesDoesNotAskTheController) {
  agent_key_ = in_pki("none.key");
  EXPECT_EQ(doctor(true), exit_failed);
  EXPECT_EQ(failed(), Names{"private key"}) << out_;
  EXPECT_EQ(states_["controller"], "warning");
  EXPECT_EQ(reached_as_, "");
}

TEST_F(DoctorCommand, AStateFolderThatIsMadeAtTheStartIsWell) {
  fs::remove_all(root_ / "agent");
  EXPECT_EQ(doctor(true), exit_ok) << out_;
  EXPECT_EQ(states_["agent state"], "ok");
}

TEST_F(DoctorCommand, ALocalSchedulerWithoutItsFolderFails) {
  fs::remove_all(root_ / "cluster");
  EXPECT_EQ(doctor(false), exit_failed);
  EXPECT_EQ(failed(), Names{"scheduler"}) << out_;
}

TEST_F(DoctorCommand, AServeThatIsNotUpOnlyWarns) {
  server_.reset();
  EXPECT_EQ(doctor(false), exit_ok) << out_;
  EXPECT_EQ(states_["serve"], "warning");
}

TEST_F(DoctorCommand, TheTableSaysWhatToDo) {
  options_.json = false;
  EXPECT_EQ(doctor(false), exit_ok);
  EXPECT_THAT(out_, HasSubstr("STATE"));
  EXPECT_THAT(out_, Not(HasSubstr("failed")));
  ASSERT_EQ(::chmod(in_pki("ctl.key").c_str(), 0644), 0);
  EXPECT_EQ(doctor(false), exit_failed);
  EXPECT_THAT(out_, HasSubstr("failed   private key"));
  EXPECT_THAT(out_, HasSubstr("chmod 600"));
}

}  // namespace
}  // namespace faultline
