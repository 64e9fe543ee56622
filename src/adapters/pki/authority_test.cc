#include "adapters/pki/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace faultline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Authority : public testing::Test {
 protected:
  Authority() {
    std::string pattern = testing::TempDir() + "pki.XXXXXX";
    folder = mkdtemp(pattern.data());
  }
  ~Authority() override { std::filesystem::remove_all(folder); }

  static ::mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
  }

  std::string folder;
  ManualClock clock{Instant{std::chrono::seconds{1'790'000'000}}};
};

TEST_F(Authority, SignsEndsAndNoFurtherAuthority) {
  ASSERT_TRUE(init_authority(folder, authority_days_default, false, clock).ok());
  const auto info = show_certificate(folder + "/ca.crt");
  ASSERT_TRUE(info.ok()) << info.error().message;
  EXPECT_TRUE(info->authority);
  EXPECT_EQ(info->subject, info->issuer);
  EXPECT_THAT(info->usages, ElementsAre("certSign"));
  EXPECT_EQ(info->not_after, clock.now() + std::chrono::days{authority_days_default});
  EXPECT_EQ(mode_of(folder + "/ca.key"), 0600U);
}

TEST_F(Authority, IssuesAnAgent) {
  ASSERT_TRUE(init_authority(folder, 100, false, clock).ok());
  const auto files = issue(
      folder,
      {.name = "n3", .dns_names = {"n3.example"}, .addresses = {"10.0.0.3", "::1"}, .days = 10},
      clock);
  ASSERT_TRUE(files.ok()) << files.error().message;
  EXPECT_EQ(mode_of(files->key), 0600U);
  const auto info = show_certificate(files->certificate);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->name, "n3");
  EXPECT_FALSE(info->authority);
  EXPECT_THAT(info->names, ElementsAre("DNS:n3", "DNS:n3.example", "IP:10.0.0.3", "IP:::1",
                                       "URI:faultline:role:agent"));
  EXPECT_THAT(info->usages, ElementsAre("clientAuth"));
  EXPECT_EQ(info->not_before, clock.now() - std::chrono::minutes{5});
  EXPECT_EQ(info->not_after, clock.now() + std::chrono::days{10});
}

TEST_F(Authority, RolesDifferInWhatTheyAreGoodFor) {
  ASSERT_TRUE(init_authority(folder, 1000, false, clock).ok());
  const auto controller = issue(folder, {.name = "ctl", .role = PeerRole::controller}, clock);
  const auto person = issue(folder, {.name = "alice", .role = PeerRole::operators}, clock);
  ASSERT_TRUE(controller.ok() && person.ok());
  EXPECT_THAT(show_certificate(controller->certificate)->usages, ElementsAre("serverAuth"));
  EXPECT_THAT(show_certificate(person->certificate)->usages, ElementsAre("clientAuth"));
  EXPECT_THAT(show_certificate(person->certificate)->names,
              ElementsAre("DNS:alice", "URI:faultline:role:operator"));
}

TEST_F(Authority, OverwritesOnlyWhenTold) {
  ASSERT_TRUE(init_authority(folder, 1000, false, clock).ok());
  EXPECT_EQ(init_authority(folder, 1000, false, clock).error().code, ErrorCode::conflict);
  ASSERT_TRUE(issue(folder, {.name = "n3"}, clock).ok());
  const auto before = show_certificate(folder + "/n3.crt")->serial;
  const auto refused = issue(folder, {.name = "n3"}, clock);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("--force"));
  EXPECT_EQ(show_certificate(folder + "/n3.crt")->serial, before);
  EXPECT_TRUE(issue(folder, {.name = "n3", .force = true}, clock).ok());
  EXPECT_NE(show_certificate(folder + "/n3.crt")->serial, before);
}

TEST_F(Authority, RefusesNamesThatAreMoreThanNames) {
  ASSERT_TRUE(init_authority(folder, 1000, false, clock).ok());
  for (const std::string name :
       {"", "../n3", "n3,URI:faultline:role:operator", "n 3", "-n3", "ca", "n3\n"}) {
    EXPECT_EQ(issue(folder, {.name = name}, clock).error().code, ErrorCode::invalid_argument)
        << name;
  }
  EXPECT_TRUE(issue(folder, {.name = std::string(64, 'n')}, clock).ok());
  EXPECT_FALSE(issue(folder, {.name = std::string(65, 'n')}, clock).ok());
  EXPECT_FALSE(issue(folder, {.name = "a", .dns_names = {"x,IP:1.2.3.4"}}, clock).ok());
  EXPECT_FALSE(issue(folder, {.name = "a", .addresses = {"1.2.3"}}, clock).ok());
  EXPECT_FALSE(std::filesystem::exists(folder + "/a.key"));
}

TEST_F(Authority, NothingOutlivesTheAuthority) {
  ASSERT_TRUE(init_authority(folder, 30, false, clock).ok());
  EXPECT_TRUE(issue(folder, {.name = "n3", .days = 30}, clock).ok());
  const auto longer = issue(folder, {.name = "n4", .days = 31}, clock);
  EXPECT_EQ(longer.error().code, ErrorCode::exhausted);
  EXPECT_THAT(longer.error().message, HasSubstr("fewer --days"));
  EXPECT_FALSE(issue(folder, {.name = "n4", .days = 0}, clock).ok());
  EXPECT_FALSE(issue(folder, {.name = "n4", .days = days_max + 1}, clock).ok());
}

TEST_F(Authority, SaysWhatToDoWithoutOne) {
  const auto missing = issue(folder, {.name = "n3"}, clock);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("faultline pki init --dir"));
}

TEST_F(Authority, RefusesAKeyThatIsNotTheAuthoritys) {
  ASSERT_TRUE(init_authority(folder, 1000, false, clock).ok());
  ASSERT_TRUE(issue(folder, {.name = "n3"}, clock).ok());
  std::filesystem::copy_file(folder + "/n3.key", folder + "/ca.key",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(issue(folder, {.name = "n4"}, clock).error().code, ErrorCode::corrupt);
}

TEST_F(Authority, ShowRefusesWhatIsNoCertificate) {
  std::ofstream(folder + "/junk")
      << "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_EQ(show_certificate(folder + "/junk").error().code, ErrorCode::corrupt);
  EXPECT_EQ(show_certificate(folder + "/absent").error().code, ErrorCode::not_found);
}

TEST(RoleUri, IsReadBack) {
  for (const auto role : {PeerRole::agent, PeerRole::controller, PeerRole::operators})
    EXPECT_EQ(parse_role_uri(role_uri(role)), role);
  EXPECT_FALSE(parse_role_uri("faultline:role:root").has_value());
  EXPECT_FALSE(parse_role_uri("https://example").has_value());
}

}  // namespace
}  // namespace faultline
