// What is taken as an option's value, on the command line and in a configuration file alike.
#include "apps/option_values.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "apps/usage.h"
#include "base/small_file.h"

namespace faultline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(OptionValues, AWholeNumberIsItsDigitsWithinItsRange) {
  const auto check = whole_number(-5, 100, 7);
  for (const char* good : {"-5", "0", "7", "100"}) EXPECT_THAT(check(good), IsEmpty()) << good;
  for (const char* bad : {"-6", "101", "", " 7", "7 ", "+7", "007", "-0", "0x7", "7.0", "1e1",
                          "inf", "nan", "99999999999999999999", "--"}) {
    EXPECT_THAT(check(bad), HasSubstr("is not a whole number from -5 to 100, for instance 7"))
        << bad;
  }
}

TEST(OptionValues, ANumberIsFiniteAndWithinItsRange) {
  const auto check = real_number(0, 3600, 10);
  for (const char* good : {"0", "0.5", "10", "1e3", "3600"})
    EXPECT_THAT(check(good), IsEmpty()) << good;
  for (const char* bad : {"-1", "-0.1", "3600.1", "nan", "-nan", "inf", "-inf", "infinity", "1e400",
                          "", "ten", "10s", "0x10", " 1", "--"}) {
    EXPECT_THAT(check(bad), HasSubstr("is not a number from 0 to 3600, for instance 10")) << bad;
  }
}

TEST(OptionValues, APortIsAPort) {
  for (const char* good : {"0.0.0.0:9176", "h:65535", "h:0", "[::1]:9", "[fe80::1%eth0]:9", ""})
    EXPECT_THAT(host_and_port(true)(good), IsEmpty()) << good;
  for (const char* bad : {"h:65536", "h:99999999999", "h:-1", "h", ":1", "h:", "h:1x", "h:+1"})
    EXPECT_EQ(host_and_port(true)(bad), "'" + std::string(bad) +
                                            "' is not HOST:PORT with a port from 0 to 65535, for "
                                            "instance 10.0.0.1:9176 or [fd00::1]:9176");
  EXPECT_THAT(host_and_port(false)("h:0"), HasSubstr("a port from 1 to 65535"));
  EXPECT_TRUE(host_and_port(false)("h:1").empty());
}

TEST(OptionValues, AHostIsANameOrAnAddressInBracketsIfItHasColons) {
  for (const char* bad :
       {"::1:9", "fd00::1:9176", "x y:9", "-h:9", "http://h:9", "[::1:9", "::1]:9", "[]:9", "[h]:9",
        "[127.0.0.1]:9", "[::1]x:9", "[::1] :9", "[fe80::1%]:9", "[fe80::1%a b]:9", "h\n:9"}) {
    EXPECT_THAT(host_and_port(false)(bad), HasSubstr("for instance 10.0.0.1:9176")) << bad;
  }
  for (const char* good : {"head-1.example.org:9176", "127.0.0.1:1", "[fd00::1]:65535"})
    EXPECT_THAT(host_and_port(false)(good), IsEmpty()) << good;
}

TEST(OptionValues, ANodeNameIsWhatSchedulersTake) {
  for (const char* good : {"n3", "gpu-1.example.org", ""})
    EXPECT_THAT(node_name()(good), IsEmpty()) << good;
  for (const char* bad : {"a b", "../n3", "-n3", "n3;reboot", "n3\n", "\x1b[2J"})
    EXPECT_THAT(node_name()(bad), HasSubstr("for instance n3")) << bad;
}

TEST(OptionValues, AFolderIsNoFileAndAFileNoFolder) {
  std::string pattern = (fs::temp_directory_path() / "option-values-XXXXXX").string();
  const std::string folder = ::mkdtemp(pattern.data());
  const std::string file = folder + "/file";
  ASSERT_TRUE(write_small_file(file, "", false).ok());
  EXPECT_THAT(file_path()(folder), HasSubstr("is a folder; a file is expected"));
  EXPECT_THAT(folder_path()(file), HasSubstr("is a file; a folder is expected"));
  for (const auto& check : {file_path(), folder_path()}) {
    EXPECT_THAT(check(file + "/below"), HasSubstr("goes through a file"));
    // Whoever opens it says so, with the exit code for what is not there.
    EXPECT_THAT(check(folder + "/none"), IsEmpty());
    EXPECT_THAT(check(""), IsEmpty());
  }
  EXPECT_THAT(file_path()(file), IsEmpty());
  EXPECT_THAT(folder_path()(folder), IsEmpty());
  EXPECT_THAT(file_path()("/dev/null"), IsEmpty()) << "what can be read is as good as a file";
  fs::remove_all(folder);
}

/// The message about `words`, for a verb that starts a program, as `run` does.
std::string said_of(std::vector<std::string> words) {
  CLI::App app("", "faultline");
  CLI::App* run = app.add_subcommand("run", "");
  double wait = 0;
  std::vector<std::string> command;
  run->add_option("--ruling-wait", wait, "")->check(real_number(0, 3600, 10));
  run->add_option("command", command, "");
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error).message;
  }
  return "";
}

TEST(OptionValues, AWrongValueIsNamedHoweverItIsGiven) {
  const std::string is = " is not a number from 0 to 3600, for instance 10";
  for (const char* wrong : {"-1", "inf", "ten"}) {
    for (const auto& words :
         {std::vector<std::string>{"run", "--ruling-wait", wrong, "--", "true", "-x"},
          std::vector<std::string>{"run", std::string("--ruling-wait=") + wrong, "--", "true"}}) {
      EXPECT_THAT(said_of(words), HasSubstr("--ruling-wait: '" + std::string(wrong) + "'" + is));
    }
  }
  EXPECT_EQ(said_of({"run", "--ruling-wait", "5", "--", "true", "-x"}), "");
  EXPECT_EQ(said_of({"run", "--ruling-wiat", "5", "--", "true"}),
            "no option '--ruling-wiat'; did you mean '--ruling-wait'?");
}

}  // namespace
}  // namespace faultline
