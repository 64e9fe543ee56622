#include "adapters/pki/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace faultline {
namespace {

using testing::HasSubstr;

constexpr Instant now{std::chrono::seconds{1'790'000'000}};
constexpr Duration life = std::chrono::hours{1000};

class Certificates : public testing::Test {
 protected:
  static KeyPair authority(const std::string& name) {
    auto made = make_authority(name, now, now + life);
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
  }
  KeyPair issued(PeerRole role) const {
    CertificateRequest request;
    request.name = "n3";
    request.role = role;
    request.not_before = now;
    request.not_after = now + life;
    auto made = issue_certificate(ours, request);
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
  }

  KeyPair ours = authority("ours");
};

TEST_F(Certificates, AKeyBelongsToOneCertificate) {
  const auto one = issued(PeerRole::agent);
  const auto other = issued(PeerRole::agent);
  EXPECT_TRUE(check_key_pair(one.certificate, one.key).ok());
  EXPECT_EQ(check_key_pair(one.certificate, other.key).error().code, ErrorCode::conflict);
  EXPECT_EQ(check_key_pair(one.certificate, "junk").error().code, ErrorCode::corrupt);
  EXPECT_EQ(check_key_pair("junk", one.key).error().code, ErrorCode::corrupt);
}

TEST_F(Certificates, AnAuthorityVouchesForWhatItSignedAlone) {
  const auto leaf = issued(PeerRole::agent);
  // Of the same name: only the signature tells them apart.
  const auto impostor = authority("ours");
  EXPECT_TRUE(check_signature(leaf.certificate, ours.certificate).ok());
  EXPECT_EQ(check_signature(leaf.certificate, impostor.certificate).error().code,
            ErrorCode::conflict);
  const auto stranger = check_signature(leaf.certificate, authority("other").certificate);
  ASSERT_FALSE(stranger.ok());
  EXPECT_THAT(stranger.error().message, HasSubstr("issuer"));
  EXPECT_EQ(check_signature(leaf.certificate, leaf.certificate).error().code, ErrorCode::conflict);
  EXPECT_EQ(check_signature(leaf.certificate, "junk").error().code, ErrorCode::corrupt);
  EXPECT_EQ(check_signature("junk", ours.certificate).error().code, ErrorCode::corrupt);
}

TEST_F(Certificates, OneOfSeveralAuthoritiesIsEnough) {
  const auto leaf = issued(PeerRole::agent);
  const auto old = authority("before");
  EXPECT_TRUE(check_signature(leaf.certificate, old.certificate + ours.certificate).ok());
  EXPECT_FALSE(
      check_signature(leaf.certificate, old.certificate + authority("next").certificate).ok());
}

TEST_F(Certificates, AnAuthorityVouchesWhileItIsInForce) {
  const auto leaf = issued(PeerRole::agent);
  const auto at = [&](Instant when) {
    return check_signature(leaf.certificate, ours.certificate, when);
  };
  EXPECT_TRUE(at(now).ok());
  EXPECT_TRUE(at(now + life - std::chrono::seconds{1}).ok());
  EXPECT_THAT(at(now + life).error().message, HasSubstr("expired"));
  EXPECT_THAT(at(now - std::chrono::seconds{1}).error().message, HasSubstr("not yet valid"));
}

TEST_F(Certificates, ARoleIsForOneUse) {
  const auto controller = issued(PeerRole::controller);
  const auto agent = issued(PeerRole::agent);
  EXPECT_TRUE(check_role(controller.certificate, PeerRole::controller).ok());
  EXPECT_TRUE(check_role(agent.certificate, PeerRole::agent).ok());
  EXPECT_EQ(check_role(agent.certificate, PeerRole::controller).error().message,
            "is for the role agent, not for controller");
  EXPECT_EQ(check_role(controller.certificate, PeerRole::agent).error().code, ErrorCode::conflict);
  EXPECT_EQ(check_role(agent.certificate, PeerRole::operators).error().code, ErrorCode::conflict);
  EXPECT_EQ(check_role(ours.certificate, PeerRole::controller).error().message,
            "is for the role of nobody, not for controller");
  EXPECT_EQ(check_role("junk", PeerRole::agent).error().code, ErrorCode::corrupt);
}

}  // namespace
}  // namespace faultline
