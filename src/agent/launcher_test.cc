#include "agent/launcher.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

LauncherMessage started() {
  LauncherMessage message;
  message.attempt = {"123_4", 2};
  message.rank = 3;
  message.at = *parse_instant("2026-11-29T21:18:32.123456Z");
  message.local_rank = 1;
  message.world = 8;
  message.pid = 4711;
  message.node = "n3";
  message.log = "/home/u/faultline-logs/123_4-n3-3.log";
  message.log_start = 77;
  message.gpus = {"0", "GPU-1"};
  return message;
}

TEST(LauncherProtocol, MessagesComeBackAsTheyWere) {
  LauncherMessage exited = started();
  exited = {};
  exited.verb = LauncherVerb::rank_exited;
  exited.attempt = {"7", 0};
  exited.rank = 0;
  exited.at = *parse_instant("2026-11-29T21:18:32Z");
  exited.signal = 9;
  exited.core_dumped = true;
  exited.step = 120;
  exited.last_line = "ValueError: \"x\"";
  LauncherMessage stalled = exited;
  stalled.verb = LauncherVerb::progress_stalled;
  stalled.signal.reset();
  stalled.core_dumped = false;
  stalled.step.reset();
  stalled.last_line.reset();
  stalled.silent = std::chrono::seconds{90};
  stalled.usual = std::chrono::milliseconds{1500};
  for (const LauncherMessage& message : {started(), exited, stalled}) {
    const auto back = parse_launcher_message(to_line(message));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(back.value(), message);
  }
}

TEST(LauncherProtocol, RepliesComeBackAsTheyWere) {
  const LauncherReply ruling{
      LauncherReply::Kind::ruling, {"123", 1}, true, "n3: Uncorrectable ECC\ndrained"};
  EXPECT_EQ(parse_launcher_reply(to_line(ruling)).value(), ruling);
  const LauncherReply refused{LauncherReply::Kind::refused, {}, false, "line too long"};
  EXPECT_EQ(parse_launcher_reply(to_line(refused)).value(), refused);
}

TEST(LauncherProtocol, ControlCharactersOfARulingDoNotReachTheTerminal) {
  const LauncherReply reply{LauncherReply::Kind::ruling, {"1", 0}, true, "a\x1b[31mb"};
  EXPECT_EQ(parse_launcher_reply(to_line(reply))->text.find('\x1b'), std::string::npos);
}

TEST(LauncherProtocol, RefusesWhatIsNoMessage) {
  const std::string good = to_line(started());
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  for (const std::string& line : {
           std::string(),
           std::string("null"),
           std::string("[]"),
           std::string("{}"),
           std::string("{\"verb\":\"x\"}"),
           std::string(10000, '['),
           std::string(launcher_line_bytes_max + 1, ' '),
           std::string("\xff\xfe"),
           with("\"123_4\"", "\"../etc\""),
           with("\"123_4\"", "7"),
           with("\"rank\":3", "\"rank\":-1"),
           with("\"rank\":3", "\"rank\":99999999999999999999"),
           with("\"rank\":3", "\"rank\":18446744073709551615"),
           with("\"rank\":3", "\"rank\":1.5"),
           with("\"pid\":4711", "\"pid\":-4"),
           with("\"/home", "\"home"),
           with("\"n3\"", "\"n3;rm\""),
           with("\"2026-", "\"nonsense"),
           with("\"restart\":2", "\"restart\":-2"),
       }) {
    EXPECT_FALSE(parse_launcher_message(line).ok()) << line.substr(0, 200);
  }
}

TEST(LauncherProtocol, AnExitIsACodeOrASignal) {
  const std::string head =
      R"({"verb":"rank_exited","job":"1","rank":0,"at":"2026-11-29T21:18:32Z")";
  EXPECT_TRUE(parse_launcher_message(head + R"(,"exit_code":1})").ok());
  EXPECT_FALSE(parse_launcher_message(head + "}").ok());
  EXPECT_FALSE(parse_launcher_message(head + R"(,"exit_code":1,"signal":9})").ok());
  EXPECT_FALSE(parse_launcher_message(head + R"(,"exit_code":256})").ok());
}

}  // namespace
}  // namespace faultline
