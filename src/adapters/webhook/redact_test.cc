#include "adapters/webhook/redact.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

TEST(Redact, TakesOutValuesOfSecretNames) {
  EXPECT_EQ(redact("mysql --password=hunter2 -h db"), "mysql --password=[redacted] -h db");
  EXPECT_EQ(redact("DB_PASSWORD: hunter2, next"), "DB_PASSWORD: [redacted], next");
  EXPECT_EQ(redact(R"({"api_key": "a b c", "n": 1})"), R"({"api_key": "[redacted]", "n": 1})");
  EXPECT_EQ(redact("export AWS_SECRET_ACCESS_KEY='x/y+z'"),
            "export AWS_SECRET_ACCESS_KEY='[redacted]'");
  EXPECT_EQ(redact("https://e/x?a=1&token=abc&b=2"), "https://e/x?a=1&token=[redacted]&b=2");
  EXPECT_EQ(redact("X-Api-Key: abc"), "X-Api-Key: [redacted]");
}

TEST(Redact, TakesOutHeadersAndBearers) {
  EXPECT_EQ(redact("Authorization: Bearer abc.def\nHost: x"), "Authorization: [redacted]\nHost: x");
  EXPECT_EQ(redact("curl -H 'authorization: Basic dXNlcjpwdw=='"),
            "curl -H 'authorization: [redacted]'");
  EXPECT_EQ(redact("sent bearer abcdef0123456789"), "sent bearer [redacted]");
}

TEST(Redact, TakesOutUserAndPasswordOfUrls) {
  EXPECT_EQ(redact("git clone https://me:pw@host/r.git"),
            "git clone https://[redacted]@host/r.git");
  EXPECT_EQ(redact("s3://bucket/a@b"), "s3://bucket/a@b");
}

TEST(Redact, KnowsKeysByTheirForm) {
  EXPECT_EQ(redact("key AKIAIOSFODNN7EXAMPLE used"), "key [redacted] used");
  EXPECT_EQ(redact("HF hf_abcdefghijklmnopqrst"), "HF [redacted]");
  EXPECT_EQ(redact("(xoxb-1234-5678-abc)"), "([redacted])");
  EXPECT_EQ(redact("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"), "[redacted]");
  EXPECT_EQ(redact("a\n-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nb"),
            "a\n[redacted]\nb");
  EXPECT_EQ(redact("-----BEGIN PRIVATE KEY-----\nMHc"), "[redacted]");
}

TEST(Redact, LeavesWhatIsNoSecret) {
  for (const char* text :
       {"", "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.",
        "tokens=4096 tokens_per_sec: 8123", "token=4096", "the password was wrong",
        "node:n3 drained at 12:00:01",
        "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----", "gpu:n3/0000:3b:00.0",
        "basic test", "AKIA",
        "scontrol update nodename=n3 state=drain reason='faultline:a-0123456789abcdef gpu.ecc'"}) {
    EXPECT_EQ(redact(text), text);
  }
}

TEST(Redact, DoesItsWorkOnceAndForAll) {
  const std::string once = redact("password=a token=b https://u:p@h/ Authorization: c");
  EXPECT_EQ(redact(once), once);
}

TEST(UrlShown, IsTheHostAlone) {
  EXPECT_EQ(url_shown("https://hooks.slack.com/services/T0/B0/secret"), "https://hooks.slack.com");
  EXPECT_EQ(url_shown("http://me:pw@host:9093?x=1"), "http://host:9093");
  EXPECT_EQ(url_shown("garbage"), "[redacted]");
}

}  // namespace
}  // namespace faultline
