#include "diagnose/traceback_frames.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

std::string frame_of(std::string_view text, std::string_view error) {
  return frame_above(text, text.find(error));
}

TEST(TracebackFrames, TheLastFrameIsTheOneAboveTheException) {
  const std::string_view plain =
      "Traceback (most recent call last):\n  File \"/srv/run.py\", line 9, in <module>\n    "
      "main()\n"
      "  File \"/srv/data/pre.py\", line 70, in main\n    x = b[\"y\"]\n        ~^^^^^\nKeyError: "
      "'y'\n";
  EXPECT_EQ(frame_of(plain, "KeyError"), "pre.py:70 in main");
  const std::string_view tagged =
      "[rank3]:   File \"a.py\", line 7, in f\n[rank5]:   File \"b.py\", line 8, in g\n"
      "[rank3]:     pass\n[rank5]: ValueError: no\n[rank3]: KeyError: 'y'\n";
  EXPECT_EQ(frame_of(tagged, "[rank3]: KeyError"), "a.py:7 in f");
  EXPECT_EQ(frame_of(tagged, "[rank5]: ValueError"), "b.py:8 in g");
}

TEST(TracebackFrames, TheProgramsOwnFrameComesBeforeALibrarys) {
  const std::string program =
      "Traceback (most recent call last):\n  File \"/srv/run.py\", line 9, in <module>\n    "
      "main()\n";
  const std::string library =
      "  File \"/usr/lib/python3.10/queue.py\", line 179, in get\n    raise Empty\n";
  EXPECT_EQ(frame_of(program + library + "_queue.Empty\n", "_queue"), "run.py:9 in <module>");
  EXPECT_EQ(frame_of(library + "_queue.Empty\n", "_queue"), "queue.py:179 in get");
  // What stands above another traceback, or another's words, is not of this one.
  const std::string two = program + "OSError: x\nTraceback (most recent call last):\n" + library;
  EXPECT_EQ(frame_of(two + "_queue.Empty\n", "_queue"), "queue.py:179 in get");
  EXPECT_EQ(frame_of(library + "_queue.Empty\n" + program + "OSError: x\n", "OSError"),
            "run.py:9 in <module>");
}

TEST(TracebackFrames, ALineThatEndsNoTracebackHasNone) {
  const std::string_view apart =
      "  File \"a.py\", line 7, in f\n    pass\nstep 3 loss 2.1\nRuntimeError: x\n";
  EXPECT_EQ(frame_of(apart, "RuntimeError"), "");
  EXPECT_EQ(frame_of("RuntimeError: x\n", "RuntimeError"), "");
  EXPECT_EQ(frame_of("  File \"a.py\", line x, in f\nRuntimeError: x\n", "RuntimeError"), "");
  EXPECT_EQ(frame_of("  File \"a.py\nRuntimeError: x\n", "RuntimeError"), "");
  EXPECT_EQ(frame_above("short", 99), "");
}

/// Says that there is an event at each of these places of its log.
class Told final : public FileDecoder {
 public:
  explicit Told(std::uint64_t at) : at_(at) {}
  std::vector<Event> feed(std::string_view bytes, std::uint64_t offset) override {
    if (at_ < offset || at_ >= offset + bytes.size()) return {};
    Event event;
    event.kind = EventKind::log_signature;
    event.raw.offset = at_;
    return {event};
  }
  std::vector<Event> finish() override { return {}; }

 private:
  std::uint64_t at_;
};

TEST(TracebackFrames, WhereAReadEndsDoesNotMatter) {
  std::string text;
  while (text.size() < 70'000) text += "step 3 loss 2.1\n";
  text += "  File \"a.py\", line 7, in f\n    pass\nKeyError: 'y'\n";
  for (const std::size_t chunk :
       {std::size_t{7}, std::size_t{1000}, std::size_t{65'536}, text.size()}) {
    TracebackFrames frames(std::make_unique<Told>(text.find("KeyError")));
    std::string found;
    for (std::size_t at = 0; at < text.size(); at += chunk) {
      for (const Event& event : frames.feed(std::string_view(text).substr(at, chunk), at))
        found += event.field(frame_field);
    }
    EXPECT_EQ(found, "a.py:7 in f") << chunk;
  }
}

}  // namespace
}  // namespace faultline
