#include "agent/gpu_watch.h"

#include <gtest/gtest.h>

namespace faultline {
namespace {

const Instant now{std::chrono::seconds{1'800'000'000}};

GpuSample healthy(const std::string& pci = "00000000:3B:00.0") {
  GpuSample sample;
  sample.pci_address = pci;
  sample.uuid = "GPU-" + pci;
  sample.serial = "S";
  sample.index = 0;
  sample.temperature_c = 40;
  sample.throttle_reasons = 0x1;  // idle
  sample.ecc_corrected_total = 5;
  sample.ecc_uncorrected_total = 2;
  sample.remapped_rows_uncorrected = 0;
  sample.remap_pending = false;
  sample.remap_failed = false;
  sample.recovery_action = 0;
  return sample;
}

/// The fields of the sample event that `change` makes of a healthy GPU; empty if it makes none.
template <class Change>
Fields fields_after(Change change) {
  GpuWatch watch("n3");
  watch.observe({healthy()}, now);
  GpuSample sample = healthy();
  change(sample);
  const auto events = watch.observe({sample}, now);
  EXPECT_LE(events.size(), 1U);
  return events.empty() ? Fields{} : events[0].fields;
}

TEST(GpuWatch, IdentityOnceAndSilenceWhileHealthy) {
  GpuWatch watch("n3");
  const auto first = watch.observe({healthy()}, now);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].kind, EventKind::gpu_identity);
  EXPECT_EQ(first[0].subject.text(), "gpu:n3/0000:3b:00.0");
  EXPECT_EQ(first[0].field("serial"), "S");
  EXPECT_TRUE(watch.observe({healthy()}, now).empty());
  ASSERT_NE(watch.identity("0000:3b:00"), nullptr);
  EXPECT_EQ(watch.identity("0000:3c:00"), nullptr);
}

TEST(GpuWatch, WhatIsWorthAnEvent) {
  EXPECT_EQ(
      fields_after([](GpuSample& s) { s.ecc_uncorrected_total = 3; }).at("ecc_uncorrected_new"),
      "1");
  EXPECT_EQ(fields_after([](GpuSample& s) { s.remap_failed = true; }).at("remap_failed"), "1");
  EXPECT_EQ(fields_after([](GpuSample& s) { s.remap_pending = true; }).at("remap_pending"), "1");
  EXPECT_EQ(fields_after([](GpuSample& s) { s.recovery_action = 2; }).at("recovery_action"), "2");
  EXPECT_EQ(fields_after([](GpuSample& s) { s.throttle_reasons = 0x48; }).at("throttle"),
            "hw_slowdown,hw_thermal");
}

TEST(GpuWatch, WhatIsNot) {
  EXPECT_TRUE(fields_after([](GpuSample& s) { s.temperature_c = 85; }).empty());
  EXPECT_TRUE(fields_after([](GpuSample& s) { s.ecc_corrected_total = 900; }).empty());
  EXPECT_TRUE(fields_after([](GpuSample& s) { s.ecc_uncorrected_total = 0; }).empty())
      << "reset by an operator";
  EXPECT_TRUE(fields_after([](GpuSample& s) { s.throttle_reasons = 0x4; }).empty()) << "power cap";
  EXPECT_TRUE(fields_after([](GpuSample& s) { s.throttle_reasons.reset(); }).empty())
      << "not read this time";
  EXPECT_TRUE(fields_after([](GpuSample& s) { s.ecc_uncorrected_total.reset(); }).empty());
}

TEST(GpuWatch, ThrottleSaysItsStartAndItsEndOnce) {
  GpuWatch watch("n3");
  watch.observe({healthy()}, now);
  GpuSample hot = healthy();
  hot.throttle_reasons = 0x40;
  EXPECT_EQ(watch.observe({hot}, now).size(), 1U);
  EXPECT_TRUE(watch.observe({hot}, now).empty());
  const auto end = watch.observe({healthy()}, now);
  ASSERT_EQ(end.size(), 1U);
  EXPECT_EQ(end[0].field("throttle"), "none");
}

TEST(GpuWatch, GpuThatDisappearsAndComesBackIsToldOnceEach) {
  GpuWatch watch("n3");
  watch.observe({healthy(), healthy("0000:5e:00.0")}, now);
  const auto gone = watch.observe({healthy()}, now);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].field("missing"), "1");
  EXPECT_TRUE(watch.observe({healthy()}, now).empty());
  const auto back = watch.observe({healthy(), healthy("0000:5e:00.0")}, now);
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].field("missing"), "0");
}

TEST(GpuWatch, AnotherCardInTheSlotHasNoPast) {
  GpuWatch watch("n3");
  watch.observe({healthy()}, now);
  GpuSample other = healthy();
  other.uuid = "GPU-other";
  other.ecc_uncorrected_total = 50;
  const auto events = watch.observe({other}, now);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, EventKind::gpu_identity);
}

/// What comes of a look that reads nothing after one at `before`, and then of one at `after`.
std::pair<std::vector<Event>, std::vector<Event>> unreadable_between(const GpuSample& before,
                                                                     const GpuSample& after) {
  GpuWatch watch("n3");
  watch.observe({before}, now);
  GpuSample unreadable;
  unreadable.pci_address = before.pci_address;
  auto meanwhile = watch.observe({unreadable}, now);
  return {std::move(meanwhile), watch.observe({after}, now)};
}

TEST(GpuWatch, WhatCannotBeReadIsNoValueAndTheNextOneIsComparedWithTheLastKnown) {
  GpuSample sick = healthy();
  sick.recovery_action = 4;
  sick.remap_pending = true;
  sick.remap_failed = true;
  sick.throttle_reasons = 0x40;
  const auto [meanwhile, cured] = unreadable_between(sick, healthy());
  EXPECT_TRUE(meanwhile.empty()) << "neither a change nor another card";
  ASSERT_EQ(cured.size(), 1U);
  EXPECT_EQ(cured[0].field("recovery_action"), "0");
  EXPECT_EQ(cured[0].field("remap_pending"), "0");
  EXPECT_EQ(cured[0].field("remap_failed"), "0");
  EXPECT_EQ(cured[0].field("throttle"), "none");
  EXPECT_EQ(cured[0].field("gpu_serial"), "S");
}

TEST(GpuWatch, ARiseIsSeenAcrossALookThatReadNothing) {
  GpuSample worse = healthy();
  worse.ecc_uncorrected_total = 5;
  worse.remapped_rows_uncorrected = 1;
  const auto [meanwhile, seen] = unreadable_between(healthy(), worse);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].field("ecc_uncorrected_new"), "3");
  EXPECT_EQ(seen[0].field("remapped_rows_uncorrected"), "1");
  EXPECT_TRUE(unreadable_between(healthy(), healthy()).second.empty());
}

TEST(GpuWatch, BadStateAtTheFirstLookIsTold) {
  GpuWatch watch("n3");
  GpuSample sample = healthy();
  sample.remap_failed = true;
  EXPECT_EQ(watch.observe({sample}, now).size(), 2U);
}

}  // namespace
}  // namespace faultline
