// `faultline serve` with certificates that will not do: it says so before it makes or takes
// anything.
#include "apps/serve_command.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "adapters/pki/authority.h"
#include "apps/output.h"
#include "store/store.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class ServeCommand : public testing::Test {
 protected:
  ServeCommand() {
    std::string pattern = (fs::temp_directory_path() / "serve-command-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    const SystemClock clock;
    EXPECT_TRUE(init_authority(file("pki"), 1000, false, clock).ok());
    EXPECT_TRUE(issue(file("pki"), {.name = "n3"}, clock).ok());
    EXPECT_TRUE(issue(file("pki"), {.name = "ctl", .role = PeerRole::controller}, clock).ok());
  }
  ~ServeCommand() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string file(const std::string& name) const {
    return (folder_ / name).string();
  }
  /// Standard error of a `serve` that failed.
  [[nodiscard]] std::string refused(const std::string& certificate, const std::string& key,
                                    const std::string& authority = "pki/ca.crt") const {
    CLI::App app("", "faultline");
    ServeOptions options;
    CLI::App* command = add_serve_command(app, options);
    options.store = file("store/faultline.db");
    options.catalog = FAULTLINE_SOURCE_CATALOG_DIR;
    options.listen = options.status_listen = "127.0.0.1:0";
    options.scheduler = "local";
    options.local_state = file("no-cluster");  // whoever comes that far fails here
    options.tls_ca = file(authority);
    options.tls_cert = file("pki/" + certificate);
    options.tls_key = file("pki/" + key);
    testing::internal::CaptureStderr();
    EXPECT_NE(serve_main(*command, options), exit_ok);
    return testing::internal::GetCapturedStderr();
  }

  fs::path folder_;
};

TEST_F(ServeCommand, AnAgentsCertificateIsRefusedByItsName) {
  const std::string said = refused("n3.crt", "n3.key");
  EXPECT_THAT(said, HasSubstr("n3.crt is for the role agent, not for controller"));
  EXPECT_THAT(said, HasSubstr("--role controller"));
  EXPECT_FALSE(fs::exists(folder_ / "store"));
}

TEST_F(ServeCommand, AKeyOfAnotherCertificateIsRefusedByItsName) {
  EXPECT_THAT(refused("ctl.crt", "n3.key"),
              HasSubstr("n3.key is the key of another certificate, not of " + file("pki/ctl.crt")));
  EXPECT_FALSE(fs::exists(folder_ / "store"));
}

TEST_F(ServeCommand, AnAuthorityThatDidNotSignItsCertificateIsRefusedByItsName) {
  ASSERT_TRUE(init_authority(file("other"), 1000, false, SystemClock()).ok());
  const std::string said = refused("ctl.crt", "ctl.key", "other/ca.crt");
  EXPECT_THAT(said, HasSubstr(file("other/ca.crt") + " cannot vouch for " + file("pki/ctl.crt")));
  EXPECT_THAT(said, HasSubstr("no agent would believe this controller"));
  EXPECT_FALSE(fs::exists(folder_ / "store"));
}

TEST_F(ServeCommand, ADamagedLogOfItsStoreIsSaidAndServedOn) {
  const std::string store = file("store/faultline.db");
  fs::create_directories(folder_ / "store");
  ASSERT_TRUE(Store::open(store, Access::read_write).ok());
  {
    const auto open = Store::open(store, Access::read_write);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE((*open)->put_value("name", std::to_string(i)).ok());
    fs::copy_file(store + "-wal", file("log"));  // as a controller that is killed leaves it
  }
  fs::copy_file(file("log"), store + "-wal");
  EXPECT_THAT(refused("ctl.crt", "ctl.key"), Not(HasSubstr("damaged")));
  fs::copy_file(file("log"), store + "-wal");
  std::fstream(store + "-wal", std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('!');
  const std::string said = refused("ctl.crt", "ctl.key");
  EXPECT_THAT(said, HasSubstr("faultline.db-wal is damaged in its record 1"));
  EXPECT_THAT(said, HasSubstr("no-cluster"));
}

TEST_F(ServeCommand, OneOfSeveralAuthoritiesIsEnough) {
  ASSERT_TRUE(init_authority(file("other"), 1000, false, SystemClock()).ok());
  std::ofstream both(file("both.crt"));
  both << std::ifstream(file("other/ca.crt")).rdbuf() << std::ifstream(file("pki/ca.crt")).rdbuf();
  both.close();
  EXPECT_THAT(refused("ctl.crt", "ctl.key", "both.crt"), HasSubstr("no-cluster"));
}

TEST_F(ServeCommand, ItsOwnCertificateAndKeyAreTaken) {
  EXPECT_THAT(refused("ctl.crt", "ctl.key"), HasSubstr("no-cluster"));
  EXPECT_TRUE(fs::exists(folder_ / "store"));
}

}  // namespace
}  // namespace faultline
