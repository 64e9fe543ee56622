#include "wire/event_codec.h"

#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"
#include "base/text.h"
#include "wire/convert.h"
#include "wire/event_check.h"

namespace faultline {
namespace {

Event full_event() {
  Event event;
  event.source = EventSource::kernel_log;
  event.kind = EventKind::log_signature;
  event.reporter = "n3";
  event.subject = Subject::of_gpu("n3", "0000:3b:00.0");
  event.attempt = AttemptId{"123_4", 2};
  event.observed_at = Instant{std::chrono::seconds{1'790'000'000}} + Duration{123'456'789};
  event.clock = ClockDomain::node_kernel;
  event.received_at = event.observed_at + std::chrono::seconds{2};
  event.signature = "xid.79";
  event.fields = {{"xid", "79"}, {"text", "two\nlines\tand a tab"}, {"empty", ""}};
  event.raw = {"/dev/kmsg", 4711, "b0", "NVRM: Xid (PCI:0000:3b:00): 79, caf\xC3\xA9"};
  event.id = make_event_id(event);
  return event;
}

Subject some_subject(Rng& random) {
  const AttemptId attempt{"12" + std::to_string(random.next() % 9) + "_4",
                          static_cast<std::uint32_t>(random.next())};
  const auto part = "part-" + std::to_string(random.next() % 100);
  switch (static_cast<SubjectKind>(random.next() % EnumNames<SubjectKind>::values.size())) {
    case SubjectKind::cluster: return Subject::of_cluster();
    case SubjectKind::rack: return Subject::of_rack(part);
    case SubjectKind::node: return Subject::of_node("gpu-node.example");
    case SubjectKind::gpu: return Subject::of_gpu("n1", "00000000:3B:00.0");
    case SubjectKind::nic: return Subject::of_nic("n1", part);
    case SubjectKind::link: return Subject::of_link("n1", part);
    case SubjectKind::network_switch: return Subject::of_switch(part);
    case SubjectKind::storage: return Subject::of_storage("nfs1:/a b/c");
    case SubjectKind::job: return Subject::of_job(attempt.job);
    case SubjectKind::attempt: return Subject::of_attempt(attempt);
    case SubjectKind::rank:
      return Subject::of_rank(attempt, static_cast<std::int32_t>(random.next() % 4096), "n1");
    case SubjectKind::communicator: return {SubjectKind::communicator, {}, part, attempt, -1};
    case SubjectKind::data_parallel_group:
      return {SubjectKind::data_parallel_group, {}, part, attempt, -1};
  }
  return {};
}

std::string some_text(Rng& random, std::size_t bytes_max) {
  std::string text;
  for (std::size_t i = random.next() % bytes_max; i > 0; --i)
    text += static_cast<char>(random.next() % 256);
  return printable(text, bytes_max);
}

Event some_event(Rng& random) {
  Event event;
  event.source = static_cast<EventSource>(random.next() % EnumNames<EventSource>::values.size());
  event.kind = static_cast<EventKind>(random.next() % EnumNames<EventKind>::values.size());
  event.clock = static_cast<ClockDomain>(random.next() % EnumNames<ClockDomain>::values.size());
  event.subject = some_subject(random);
  if (random.next() % 2 == 0) event.reporter = "n" + std::to_string(random.next() % 50);
  if (random.next() % 2 == 0)
    event.attempt = AttemptId{"7+1", static_cast<std::uint32_t>(random.next() % 3)};
  if (random.next() % 4 != 0)
    event.observed_at = Instant{
        Duration{static_cast<std::int64_t>(random.below(std::uint64_t{1} << 32)) * 1'600'000'000}};
  if (random.next() % 4 == 0) event.received_at = event.observed_at;
  for (auto i = random.next() % (event_fields_max + 1); i > 0; --i) {
    event.fields["f" + std::to_string(i)] = some_text(random, 64);
  }
  if (random.next() % 2 == 0)
    event.raw = {"/var/log/x", random.next(), "boot", some_text(random, raw_text_bytes_max)};
  event.id = make_event_id(event);
  return event;
}

TEST(EventCodec, KeepsEveryField) {
  const Event event = full_event();
  const auto parsed = parse_event(serialize_event(event));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(*parsed, event);
}

TEST(EventCodec, DecodeOfEncodeIsTheSameEvent) {
  Rng random(20261129);
  for (int i = 0; i < 2000; ++i) {
    const Event event = some_event(random);
    const std::string bytes = serialize_event(event);
    const auto parsed = parse_event(bytes);
    ASSERT_TRUE(parsed.ok()) << i << ": " << parsed.error().message;
    ASSERT_EQ(*parsed, event) << i;
    ASSERT_EQ(serialize_event(*parsed), bytes) << i;
  }
}

TEST(EventCodec, RefusesOtherVersionsAndNoBytes) {
  std::string bytes = serialize_event(full_event());
  bytes[0] = 2;
  EXPECT_EQ(parse_event(bytes).error().code, ErrorCode::corrupt);
  EXPECT_EQ(parse_event("").error().code, ErrorCode::corrupt);
}

TEST(EventCodec, SurvivesACutAtEveryByte) {
  const std::string bytes = serialize_event(full_event());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto parsed = parse_event(std::string_view(bytes).substr(0, length));
    // A cut between two fields still is a message; what it lacks makes it another event, never this
    // one.
    EXPECT_FALSE(parsed.ok() && *parsed == full_event()) << length;
  }
}

TEST(EventCodec, EnumsOfTheMessageAreThoseOfTheModel) {
  EXPECT_EQ(v1::Source_ARRAYSIZE, static_cast<int>(EnumNames<EventSource>::values.size()) + 1);
  EXPECT_EQ(v1::Kind_ARRAYSIZE, static_cast<int>(EnumNames<EventKind>::values.size()) + 1);
  EXPECT_EQ(v1::ClockDomain_ARRAYSIZE, static_cast<int>(EnumNames<ClockDomain>::values.size()) + 1);
  EXPECT_EQ(v1::SubjectKind_ARRAYSIZE, static_cast<int>(EnumNames<SubjectKind>::values.size()) + 1);
  for (std::size_t i = 0; i < EnumNames<EventKind>::values.size(); ++i) {
    EXPECT_EQ("kind_" + std::string(EnumNames<EventKind>::values[i]),
              to_lower(v1::Kind_Name(static_cast<v1::Kind>(i + 1))));
  }
  for (std::size_t i = 0; i < EnumNames<EventSource>::values.size(); ++i) {
    EXPECT_EQ("source_" + std::string(EnumNames<EventSource>::values[i]),
              to_lower(v1::Source_Name(static_cast<v1::Source>(i + 1))));
  }
}

TEST(EventCheck, TakesWhatIsAtTheLimitAndRefusesOneMore) {
  Event event = full_event();
  event.fields.clear();
  for (std::size_t i = 0; i < event_fields_max; ++i) event.fields["f" + std::to_string(i)] = "x";
  event.fields["f0"] = std::string(field_bytes_max + cut_mark_bytes, 'x');
  event.raw.text = std::string(raw_text_bytes_max + cut_mark_bytes, 'x');
  EXPECT_TRUE(check_event(event).ok());

  Event more_fields = event;
  more_fields.fields["one_more"] = "x";
  EXPECT_EQ(check_event(more_fields).error().message, "more than 48 fields");
  Event longer_value = event;
  longer_value.fields["f0"] += 'x';
  EXPECT_FALSE(check_event(longer_value).ok());
  Event longer_text = event;
  longer_text.raw.text += 'x';
  EXPECT_FALSE(check_event(longer_text).ok());
}

TEST(EventCheck, RefusesTextThatIsNone) {
  Event event = full_event();
  event.fields["text"] = "\xFF";
  EXPECT_EQ(check_event(event).error().message, "value too long or not text: field 'text'");
  event = full_event();
  event.raw.text = std::string("a\0b", 3);
  EXPECT_FALSE(check_event(event).ok());
  event = full_event();
  event.fields["a b"] = "x";
  EXPECT_EQ(check_event(event).error().message, "bad field name 'a b'");
}

TEST(EventCheck, RefusesSubjectsThatReadLikeAnother) {
  Event event = full_event();
  event.subject = Subject::of_node("n3");
  event.subject.part = "hidden";
  EXPECT_FALSE(check_event(event).ok());
  event.subject = Subject::of_node("../n3");
  EXPECT_FALSE(check_event(event).ok());
  event.subject = Subject::of_rank({"1", 0}, rank_max + 1);
  EXPECT_FALSE(check_event(event).ok());
}

TEST(EventCheck, RefusesTimesNobodyMeans) {
  Event event = full_event();
  event.observed_at = Instant{Duration{-1}};
  EXPECT_FALSE(check_event(event).ok());
  event.observed_at = Instant::max();
  EXPECT_FALSE(check_event(event).ok());
  event.observed_at = Instant{};  // not known is fine
  EXPECT_TRUE(check_event(event).ok());
}

TEST(EventConvert, RefusesUnknownEnumsAndDoubledFields) {
  v1::Event message;
  event_to_wire(full_event(), message);
  v1::Event unknown_kind = message;
  unknown_kind.set_kind(static_cast<v1::Kind>(99));
  EXPECT_EQ(event_from_wire(unknown_kind).error().message, "unknown kind");
  v1::Event unset_source = message;
  unset_source.clear_source();
  EXPECT_EQ(event_from_wire(unset_source).error().message, "unknown source");
  v1::Event doubled = message;
  *doubled.add_fields() = doubled.fields(0);
  EXPECT_FALSE(event_from_wire(doubled).ok());
}

}  // namespace
}  // namespace faultline
