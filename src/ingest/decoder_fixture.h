// For the decoder's tests: the shipped catalog, compiled once, and short spellings.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ingest/log_decoder.h"

namespace faultline {

inline Instant test_time(std::string_view text) { return parse_instant(text).value_or(Instant{}); }

class DecoderTest : public testing::Test {
 protected:
  static const Catalog& catalog() {
    static const Catalog loaded = [] {
      auto result = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
      EXPECT_TRUE(result.ok()) << result.error().message;
      return result.ok() ? std::move(result).value() : Catalog{};
    }();
    return loaded;
  }

  static std::shared_ptr<const SignatureDatabase> database(EventSource source) {
    static std::map<EventSource, std::shared_ptr<const SignatureDatabase>> opened;
    auto& database = opened[source];
    if (database == nullptr) {
      Counters counters;
      // Each test may be a process of its own; only the first one compiles.
      const auto cache =
          testing::TempDir() + "faultline_test_signatures_" + std::to_string(::geteuid());
      auto result = SignatureDatabase::open(catalog(), layers_of(source), cache, counters);
      EXPECT_TRUE(result.ok()) << result.error().message;
      if (result.ok()) database = result.value();
    }
    return database;
  }

  static Origin kernel_origin() {
    Origin origin;
    origin.source = EventSource::kernel_log;
    origin.node = "n3";
    origin.path = "/dev/kmsg";
    origin.boot_id = "boot-1";
    origin.boot_time = test_time("2026-02-20T00:00:00Z");
    return origin;
  }

  static Origin job_origin() {
    Origin origin;
    origin.source = EventSource::job_log;
    origin.node = "n3";
    origin.path = "/run/rank3.log";
    origin.attempt = AttemptId{"123", 0};
    origin.rank = 3;
    return origin;
  }

  LogDecoder decoder(Origin origin, DecoderLimits limits = {}) {
    const EventSource source = origin.source;
    return {database(source), std::move(origin), counters_, limits};
  }

  /// The events of a whole log.
  std::vector<Event> decode(const Origin& origin, const std::string& text,
                            DecoderLimits limits = {}) {
    LogDecoder all = decoder(origin, limits);
    auto events = all.feed(text, 0, now_);
    for (auto& event : all.finish(now_)) events.push_back(std::move(event));
    return events;
  }

  static std::vector<std::string> signatures(const std::vector<Event>& events) {
    std::vector<std::string> out;
    for (const auto& event : events) {
      out.push_back(event.kind == EventKind::log_signature ? event.signature
                                                           : std::string(to_text(event.kind)));
    }
    return out;
  }

  Counters counters_;
  Instant now_ = test_time("2026-03-01T12:00:00Z");
};

}  // namespace faultline
