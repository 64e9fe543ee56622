#include "store/person_request.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

PersonRequest request(std::int64_t number, RequestKind kind, std::string target,
                      const std::string& answer = "silenced ...") {
  return {
      number, kind, std::move(target), "ann(1000)", Instant{hours{number}}, parse_answer(answer)};
}

TEST(PersonRequest, ALengthHasAUnit) {
  EXPECT_EQ(parse_length("90s"), Duration{seconds{90}});
  EXPECT_EQ(parse_length("30m"), Duration{minutes{30}});
  EXPECT_EQ(parse_length("2h"), Duration{hours{2}});
  EXPECT_EQ(parse_length("7d"), Duration{hours{168}});
  for (const char* wrong : {"", "h", "2", "2w", "-2h", "2.5h", "2 h", "100001d", "99999999999s"})
    EXPECT_FALSE(parse_length(wrong).has_value()) << wrong;
}

TEST(PersonRequest, ASilenceHasASubjectALengthAndAReason) {
  const auto silence = parse_silence("gpu:n3/0000:3b:00.0 2h new cable on port 3");
  ASSERT_TRUE(silence.ok());
  EXPECT_EQ(silence->subject, Subject::of_gpu("n3", "0000:3b:00.0"));
  EXPECT_EQ(silence->length, Duration{hours{2}});
  EXPECT_EQ(silence->reason, "new cable on port 3");
  for (const char* spelling : {"gpu:n3/0000:3b:00", "gpu:n3/3B:00.0", "gpu:n3/00000000:3B:00.0"})
    EXPECT_EQ(parse_silence(std::string(spelling) + " 2h x")->subject, silence->subject)
        << spelling;
  EXPECT_FALSE(parse_silence("gpu:n3/zz 2h x").ok()) << "it would silence nothing";
  EXPECT_EQ(parse_silence("n3 2h x")->subject, Subject::of_node("n3"));
  EXPECT_EQ(parse_silence("cluster 2h x")->subject, Subject::of_cluster());
}

TEST(PersonRequest, ASilenceHasLimits) {
  EXPECT_TRUE(parse_silence("n3 7d x").ok());
  EXPECT_TRUE(parse_silence("n3 1h " + std::string(silence_reason_bytes_max, 'x')).ok());
  for (const std::string& wrong :
       {std::string("n3 8d x"), std::string("n3 169h x"), std::string("n3 0h x"),
        std::string("n3 2h"), std::string("n3 2h   "), std::string("n3"), std::string(),
        std::string("$(reboot) 2h x"), std::string("pigeon:n3 2h x"), std::string("n3 2h a\nb"),
        "n3 1h " + std::string(silence_reason_bytes_max + 1, 'x')}) {
    const auto silence = parse_silence(wrong);
    ASSERT_FALSE(silence.ok()) << wrong;
    EXPECT_EQ(silence.error().code, ErrorCode::invalid_argument);
  }
}

TEST(PersonRequest, ARepairHasANodeAndPerhapsANote) {
  EXPECT_EQ(parse_repair("n3")->node, "n3");
  EXPECT_EQ(parse_repair("n3")->note, "");
  EXPECT_EQ(parse_repair("n3 RMA 4711: board swapped")->note, "RMA 4711: board swapped");
  EXPECT_TRUE(parse_repair("n3 " + std::string(repair_note_bytes_max, 'x')).ok());
  for (const std::string& wrong :
       {std::string(), std::string(" n3"), std::string("../n3"), std::string("n3;reboot x"),
        std::string("n3 a\nb"), "n3 " + std::string(repair_note_bytes_max + 1, 'x')}) {
    const auto repair = parse_repair(wrong);
    ASSERT_FALSE(repair.ok()) << wrong;
    EXPECT_EQ(repair.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(repair.error().message.find("for instance"), std::string::npos);
  }
  EXPECT_FALSE(make_repair("n3 x", "note").ok()) << "its second word would be the note";
}

TEST(PersonRequest, ASilenceHoldsUntilItsEndOrAPersons) {
  auto all = silences_of(
      {request(1, RequestKind::silence, "n3 3h x"), request(2, RequestKind::silence, "n4 3h y")});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].id, "s-1");
  EXPECT_TRUE(all[0].holds(Instant{hours{4}} - seconds{1}));
  EXPECT_FALSE(all[0].holds(Instant{hours{4}}));
  all = silences_of(
      {request(1, RequestKind::silence, "n3 9h x"), request(2, RequestKind::silence, "n4 9h y"),
       request(3, RequestKind::unsilence, "s-1"), request(4, RequestKind::unsilence, "s-1")});
  EXPECT_FALSE(all[0].holds(Instant{hours{4}}));
  EXPECT_EQ(all[0].ended_at, Instant{hours{3}});  // the second end changed nothing
  EXPECT_TRUE(all[1].holds(Instant{hours{4}}));
}

TEST(PersonRequest, WhatWasNotTakenSilencesNothing) {
  for (const char* answer : {"", "refused: no", "not found: n3"}) {
    EXPECT_TRUE(silences_of({request(1, RequestKind::silence, "n3 3h x", answer)}).empty())
        << answer;
    const auto kept = silences_of({request(1, RequestKind::silence, "n3 9h x"),
                                   request(2, RequestKind::unsilence, "s-1", answer)});
    EXPECT_TRUE(kept.front().holds(Instant{hours{3}})) << answer;
  }
  EXPECT_TRUE(silences_of({request(1, RequestKind::approve, "n3 3h x")}).empty());
  EXPECT_TRUE(silences_of({request(1, RequestKind::silence, "of another program")}).empty());
}

TEST(PersonRequest, AnAnswerSaysWhatKindItIs) {
  const auto kind = [](std::string_view text) { return parse_answer(text).kind; };
  EXPECT_EQ(kind(""), AnswerKind::open);
  EXPECT_EQ(kind("act: n3 is given back"), AnswerKind::act);
  EXPECT_EQ(kind("hold: n3 is not drained"), AnswerKind::hold);
  EXPECT_EQ(kind("approved by ann"), AnswerKind::taken);
  EXPECT_EQ(answer_of(Error{ErrorCode::not_found, "why"}).kind, AnswerKind::not_found);
  EXPECT_EQ(answer_of(Error{ErrorCode::conflict, "why"}).kind, AnswerKind::refused);
  for (const auto* text : {"", "approved", "act: x", "ask: x", "hold: x: y", "deny: x",
                           "refused: not found: x", "not found: x"})
    EXPECT_EQ(to_text(parse_answer(text)), text) << "as older versions of faultline read it";
  EXPECT_FALSE(accepted(AnswerKind::open) || accepted(AnswerKind::hold));
  EXPECT_TRUE(accepted(AnswerKind::ask) && accepted(AnswerKind::taken));
}

}  // namespace
}  // namespace faultline
