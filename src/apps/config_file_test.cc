#include "apps/config_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "apps/serve_command.h"
#include "base/small_file.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// serve.toml with some text in it, read as `faultline serve` does.
class ConfigFile : public testing::Test {
 protected:
  ConfigFile() {
    std::string pattern = (fs::temp_directory_path() / "config-file-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    file_ = folder_ / "serve.toml";
  }
  ~ConfigFile() override { fs::remove_all(folder_); }

  /// "" or the error, without the folder's name.
  std::string read(const std::string& text) {
    EXPECT_TRUE(write_small_file(file_, text, false).ok());
    options_ = {};
    CLI::App app;
    CLI::App* serve = add_serve_command(app, options_);
    const auto applied = apply_config(*serve, file_.string(), {"limits"});
    if (applied) return "";
    const std::string& message = applied.error().message;
    EXPECT_THAT(message, HasSubstr(folder_.string()));
    return message.substr(folder_.string().size() + 1);
  }

  fs::path folder_, file_;
  ServeOptions options_;
};

TEST_F(ConfigFile, KeysAreOptions) {
  EXPECT_EQ(read("mode = \"act\"\nplain = true\npoll-ms = 500\nwebhook = [\"http://a\", "
                 "\"http://b\"]\ntest-command = \"/bin/true\"\n[limits]\nx = 1\n"),
            "");
  EXPECT_EQ(options_.mode, "act");
  EXPECT_TRUE(options_.plain);
  EXPECT_EQ(options_.poll_ms, 500);
  EXPECT_THAT(options_.webhooks, ElementsAre("http://a", "http://b"));
  EXPECT_THAT(options_.test_command, ElementsAre("/bin/true"));
  EXPECT_EQ(read("plain = false\nwebhook = []\n"), "");
  EXPECT_FALSE(options_.plain);
}

TEST_F(ConfigFile, AValueOfAnotherTypeIsRefusedWithItsLine) {
  EXPECT_EQ(read("\npoll-ms = \"500\"\n"), "serve.toml:2: 'poll-ms' must be a whole number");
  EXPECT_EQ(read("poll-ms = 0.5\n"), "serve.toml:1: 'poll-ms' must be a whole number");
  EXPECT_EQ(read("poll-ms = true\n"), "serve.toml:1: 'poll-ms' must be a whole number");
  EXPECT_EQ(read("mode = 3\n"), "serve.toml:1: 'mode' must be a text in quotes");
  EXPECT_EQ(read("mode = [\"act\"]\n"),
            "serve.toml:1: 'mode' must be a text in quotes, not a list");
  EXPECT_EQ(read("plain = \"no\"\n"), "serve.toml:1: 'plain' must be true or false");
  EXPECT_EQ(read("webhook = [\n\"http://a\",\n7]\n"),
            "serve.toml:3: 'webhook' must be a text in quotes, or a list of such");
  EXPECT_EQ(read("mode = 1979-05-27\n"), "serve.toml:1: 'mode' must be a text in quotes");
  EXPECT_EQ(read("[mode]\n"), "serve.toml:1: 'mode' must be a text in quotes");
}

TEST_F(ConfigFile, AValueOutOfRangeIsRefusedWithItsLine) {
  EXPECT_THAT(read("\npoll-ms = 99\n"), testing::StartsWith("serve.toml:2: "));
  EXPECT_EQ(read("poll-ms = 100\n"), "");
  EXPECT_THAT(read("keep-events-days = -1\n"), HasSubstr("serve.toml:1: "));
  EXPECT_THAT(read("listen = \"0.0.0.0:65536\"\n"), HasSubstr("a port from 0 to 65535"));
  EXPECT_THAT(read("mode = \"bold\"\n"), HasSubstr("observe"));
}

TEST_F(ConfigFile, AnUnknownKeyIsNamedWithTheNearestOne) {
  EXPECT_EQ(read("\n\npoll_ms = 500\n"),
            "serve.toml:3: unknown key 'poll_ms'; did you mean 'poll-ms'?");
  EXPECT_THAT(read("xyzzy = 1\n"), HasSubstr("the long options of `faultline serve --help`"));
  EXPECT_THAT(read("help = true\n"), HasSubstr("unknown key 'help'; the keys are"));
}

TEST_F(ConfigFile, ItNamesNoOtherFile) {
  EXPECT_EQ(read("\nconfig = \"other.toml\"\n"),
            "serve.toml:2: 'config' is for the command line alone: a configuration file names no "
            "other one");
  EXPECT_THAT(read("confg = \"other.toml\"\n"), testing::Not(HasSubstr("did you mean 'config'")));
}

TEST_F(ConfigFile, WhatIsNoTomlIsAnErrorWithItsLine) {
  EXPECT_THAT(read("mode = \"act\"\nplain = \n"), testing::StartsWith("serve.toml:2: "));
  EXPECT_THAT(read(std::string("mode = \"a\0b\"", 12)), testing::StartsWith("serve.toml:1: "));
  EXPECT_THAT(read(std::string((1 << 20) + 1, '#')), HasSubstr("longer than"));
  ServeOptions options;
  CLI::App app;
  CLI::App* serve = add_serve_command(app, options);
  EXPECT_FALSE(apply_config(*serve, folder_.string()).ok());
  EXPECT_EQ(apply_config(*serve, (folder_ / "none").string()).error().code, ErrorCode::not_found);
}

TEST_F(ConfigFile, OneThatMayNotBeReadIsNotAMissingAnswer) {
  EXPECT_EQ(read(""), "");
  ASSERT_EQ(::chmod(file_.c_str(), 0), 0);
  EXPECT_EXIT(
      {
        if (::geteuid() == 0 && ::setuid(65534) != 0) std::_Exit(99);
        const auto table = read_config(file_.string());
        std::_Exit(!table && table.error().code == ErrorCode::permission_denied ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace faultline
