// What a wrong command line is told. The verbs here are made up; docs/reference holds the real
// ones.
#include "apps/usage.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace faultline {
namespace {

using testing::HasSubstr;
using testing::Not;

class Usage : public testing::Test {
 protected:
  Usage() : app_("", "faultline") {
    app_.require_subcommand(1);
    CLI::App* serve = app_.add_subcommand("serve", "");
    serve->add_option("--listen", listen_, "");
    CLI::App* pki = app_.add_subcommand("pki", "");
    pki->require_subcommand(1);
    pki->add_subcommand("issue", "");
    app_.add_subcommand("secret", "")->group("");
  }
  std::string parse(std::vector<std::string> words) {
    if (const auto wrong = unknown_verb(app_, words)) return wrong->message;
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      const Error wrong = usage_error(app_, error);
      EXPECT_EQ(wrong.code, ErrorCode::invalid_argument);
      return wrong.message;
    }
    return "";
  }
  CLI::App app_;
  std::string listen_;
};

TEST_F(Usage, AnUnknownVerbIsNamedWithTheNearestOne) {
  EXPECT_EQ(parse({"sevre"}), "no verb 'sevre'; did you mean 'serve'?");
  EXPECT_EQ(parse({"pki", "isue"}), "no verb 'isue'; did you mean 'issue'?");
  EXPECT_EQ(parse({"xyzzy"}), "no verb 'xyzzy'; `faultline --help` lists what there is");
  EXPECT_EQ(parse({"pki", "xyzzy"}), "no verb 'xyzzy'; `faultline pki --help` lists what there is");
  EXPECT_EQ(parse({"secre"}),
            "no verb 'secre'; `faultline --help` lists what there is");  // stays hidden
}

TEST_F(Usage, WhatIsRightIsLeftAlone) {
  EXPECT_EQ(parse({"serve"}), "");
  EXPECT_EQ(parse({"pki", "issue"}), "");
  EXPECT_EQ(parse({"secret"}), "");
}

TEST_F(Usage, AnUnknownOptionIsNamedWithTheNearestOne) {
  EXPECT_EQ(parse({"serve", "--listn", "x:1"}), "no option '--listn'; did you mean '--listen'?");
  EXPECT_EQ(parse({"serve", "--listn=x:1"}), "no option '--listn'; did you mean '--listen'?");
  EXPECT_EQ(parse({"serve", "--xyzzy"}),
            "no option '--xyzzy'; `faultline serve --help` lists what there is");
  EXPECT_THAT(parse({"serve", "extra"}), HasSubstr("'extra' has no meaning here"));
  EXPECT_THAT(parse({"--listn"}), HasSubstr("no option '--listn'"));
}

TEST_F(Usage, AnOptionBeforeItsVerbIsToldWhereItBelongs) {
  EXPECT_EQ(parse({"--listen", "x:1", "serve"}),
            "no option '--listen' here; it follows the verb: faultline serve --listen");
  EXPECT_EQ(parse({"--listen=x:1", "serve"}),
            "no option '--listen' here; it follows the verb: faultline serve --listen");
  EXPECT_EQ(parse({"--listen", "x:1"}),
            "no option '--listen' here; it follows a verb: `faultline --help` lists them");
}

TEST_F(Usage, AMissingVerbIsAskedFor) {
  EXPECT_EQ(parse({}), "a verb is missing; `faultline --help` lists what there is");
  EXPECT_EQ(parse({"pki"}), "a verb is missing; `faultline pki --help` lists what there is");
}

TEST_F(Usage, WhatIsHostileIsShownShortAndWithoutControls) {
  for (const std::string& word : {std::string(1 << 20, 'x'), std::string("a\x1b[2Jb\n"),
                                  std::string("$(reboot)"), std::string("\xff\xfe")}) {
    for (const auto& words : {std::vector{word}, std::vector{std::string("serve"), "--" + word}}) {
      const std::string said = parse(words);
      EXPECT_LT(said.size(), 1000u);
      EXPECT_THAT(said, Not(HasSubstr("\x1b")));
      EXPECT_THAT(said, Not(HasSubstr("\n")));
    }
  }
}

}  // namespace
}  // namespace faultline
