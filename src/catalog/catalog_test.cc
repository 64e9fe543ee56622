#include "catalog/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "catalog/catalog_parser.h"

namespace faultline {
namespace {

constexpr std::string_view cause_text = R"(
[[cause]]
id          = "gpu.fell_off_bus"
class       = "gpu"
severity    = "fatal"
remedy      = "reboot_node"
summary     = "GPU fell off the bus"
explanation = "It is gone."
next_step   = "Drain the node."
cases       = ["GT-1"]
)";

constexpr std::string_view signature_text = R"(
[[signature]]
id        = "xid.79"
layer     = "kernel"
pattern   = '''NVRM: Xid \(PCI:([0-9a-f:]+)\): 79,'''
captures  = ["bdf"]
cause     = "gpu.fell_off_bus"
role      = "root"
strength  = "decisive"
severity  = "fatal"
subject   = "gpu"
settle_ms = 1500
source    = "a test"
)";

/// The text with one line replaced: "key = value" for the line that starts with the key, "" to
/// leave it out.
std::string with(std::string_view text, std::string_view key, std::string_view line) {
  std::string out(text);
  const auto start = out.find("\n" + std::string(key) + " ") + 1;
  out.replace(start, out.find('\n', start) - start, line);
  return out;
}

/// "" if the catalog is accepted, else the message.
std::string refusal(std::string_view causes, std::string_view signatures,
                    std::string_view policies = "") {
  CatalogParser parser;
  if (const auto status = parser.add_causes(causes, "c.toml"); !status.ok())
    return status.error().message;
  if (const auto status = parser.add_signatures(signatures, "s.toml"); !status.ok())
    return status.error().message;
  if (const auto status = parser.add_policies(policies, "p.toml"); !status.ok())
    return status.error().message;
  const auto catalog = parser.finish();
  return catalog.ok() ? "" : catalog.error().message;
}

TEST(Catalog, ReadsEveryKey) {
  CatalogParser parser;
  ASSERT_TRUE(parser.add_causes(cause_text, "c.toml").ok());
  ASSERT_TRUE(parser.add_signatures(signature_text, "s.toml").ok());
  const auto catalog = parser.finish();
  ASSERT_TRUE(catalog.ok()) << catalog.error().message;
  const Cause* cause = catalog->cause("gpu.fell_off_bus");
  ASSERT_NE(cause, nullptr);
  EXPECT_EQ(cause->cause_class, CauseClass::gpu);
  EXPECT_EQ(cause->severity, Severity::fatal);
  EXPECT_EQ(cause->remedy, Remedy::reboot_node);
  EXPECT_EQ(cause->cases, std::vector<std::string>{"GT-1"});
  const Signature* signature = catalog->signature("xid.79");
  ASSERT_NE(signature, nullptr);
  EXPECT_EQ(signature->layer, Layer::kernel);
  EXPECT_EQ(signature->captures, std::vector<std::string>{"bdf"});
  EXPECT_EQ(signature->use, SignatureUse::primary);
  EXPECT_EQ(signature->strength, Strength::decisive);
  EXPECT_EQ(signature->subject, SubjectKind::gpu);
  EXPECT_EQ(signature->settle, std::chrono::milliseconds{1500});
  EXPECT_EQ(catalog->signature("xid.7"), nullptr);
  EXPECT_EQ(catalog->cause(""), nullptr);
}

TEST(Catalog, PublicCasesAreKnownByTheirIds) {
  constexpr std::string_view told = R"(
[[case]]
id    = "GT-1"
title = "A GPU that was gone"
by    = "Somebody, 2021"
link  = "https://example.org/told"
)";
  const auto load = [&](std::string_view cases) -> std::string {
    CatalogParser parser;
    EXPECT_TRUE(parser.add_causes(cause_text, "c.toml").ok());
    if (const auto status = parser.add_public_cases(cases, "p.toml"); !status.ok())
      return status.error().message;
    const auto catalog = parser.finish();
    return catalog.ok() ? catalog->public_case("GT-1")->title : catalog.error().message;
  };
  EXPECT_EQ(load(told), "A GPU that was gone");
  EXPECT_NE(load(with(told, "id", "id = \"GT-2\"")).find("c.toml:2: no public case 'GT-1'"),
            std::string::npos);
  EXPECT_NE(load(with(told, "id", "id = \"xid.79\"")).find("'id' must be"), std::string::npos);
  EXPECT_NE(load(with(told, "link", "link = \"javascript:x\"")).find("'link' must be"),
            std::string::npos);
}

struct Refused {
  const char* name;
  std::string causes;
  std::string signatures;
  std::string policies;
  std::string message;  // what must stand in it
};

class CatalogRefuses : public testing::TestWithParam<Refused> {};

TEST_P(CatalogRefuses, WithFileAndLine) {
  const Refused& refused = GetParam();
  const auto message = refusal(refused.causes, refused.signatures, refused.policies);
  EXPECT_NE(message.find(refused.message), std::string::npos) << "message: " << message;
}

const std::string good_cause(cause_text);
const std::string good_signature(signature_text);

INSTANTIATE_TEST_SUITE_P(
    All, CatalogRefuses,
    testing::Values(
        Refused{"syntax", "[[cause]]\nid = \n", good_signature, "", "c.toml:2"},
        Refused{"unknown_key", with(cause_text, "cases", "cases=[]\ncolour=1"), good_signature, "",
                "c.toml:11: unknown key 'colour'"},
        Refused{"unknown_table", good_cause + "\n[extra]\n", good_signature, "",
                "unknown key 'extra'"},
        Refused{"enum_word", with(cause_text, "severity", "severity = \"terrible\""),
                good_signature, "",
                "c.toml:5: 'severity' is 'terrible', must be one of: info warning error critical "
                "fatal"},
        Refused{"missing_key", with(cause_text, "summary", ""), good_signature, "",
                "c.toml:2: key 'summary' is missing"},
        Refused{"wrong_type", with(cause_text, "summary", "summary = 3"), good_signature, "",
                "'summary' must be a string"},
        Refused{"cause_id", with(cause_text, "id", "id = \"gpux.Fell\""), good_signature, "",
                "'id' must be <class word>"},
        Refused{"duplicate_cause", good_cause + good_cause, good_signature, "",
                "c.toml:12: 'gpu.fell_off_bus' stands already at c.toml:2"},
        Refused{"duplicate_signature", good_cause, good_signature + good_signature, "",
                "'xid.79' stands already at s.toml:2"},
        Refused{"cause_of_signature", good_cause,
                with(signature_text, "cause", "cause = \"gpu.nothing\""), "",
                "s.toml:2: no cause 'gpu.nothing'"},
        Refused{"too_few_captures", good_cause, with(signature_text, "captures", "captures = []"),
                "", "s.toml:5: the pattern has 1 capture groups, 'captures' names 0"},
        Refused{"too_many_captures", good_cause,
                with(signature_text, "captures", "captures = [\"bdf\", \"pid\"]"), "",
                "the pattern has 1 capture groups, 'captures' names 2"},
        Refused{"capture_name", good_cause,
                with(signature_text, "captures", "captures = [\"B DF\"]"), "", "capture name"},
        Refused{"not_re2", good_cause, with(signature_text, "pattern", "pattern = '(?=x)(y)'"), "",
                "is not RE2 syntax"},
        Refused{"empty_match", good_cause, with(signature_text, "pattern", "pattern = '(x)*'"), "",
                "matches an empty line"},
        Refused{"clears_without_target", good_cause,
                with(signature_text, "settle_ms", "use = \"clears\""), "", "'clears' names"},
        Refused{"target_without_clears", good_cause,
                with(signature_text, "settle_ms", "clears = \"xid.79\""), "", "'clears' names"},
        Refused{"target_unknown", good_cause,
                with(signature_text, "settle_ms", "use = \"clears\"\nclears = \"xid.80\""), "",
                "s.toml:2: no signature 'xid.80'"},
        Refused{"strength_of_noise", good_cause, with(signature_text, "role", "role = \"noise\""),
                "", "'strength' is only for role"},
        Refused{"subject_kind", good_cause, with(signature_text, "subject", "subject = \"rack\""),
                "", "'subject' must be"},
        Refused{"clears_within_of_a_fault", good_cause,
                with(signature_text, "settle_ms", "clears_within_ms = 3000"), "",
                "'clears_within_ms' is for"},
        Refused{"settle_of_a_clearing_one", good_cause,
                with(signature_text, "strength", "use = \"clears\"\nclears = \"xid.79\""), "",
                "'settle_ms' for all others"},
        Refused{"settle_range", good_cause, with(signature_text, "settle_ms", "settle_ms = -1"), "",
                "from 0 to 600000"},
        Refused{"rule_for_nothing", good_cause, good_signature, "[[rule]]\nactions = []\n",
                "either a 'cause' or a 'remedy'"},
        Refused{"rule_for_both", good_cause, good_signature,
                "[[rule]]\ncause = \"gpu.fell_off_bus\"\nremedy = \"none\"\nactions = []\n",
                "either a 'cause' or a 'remedy'"},
        Refused{"rule_without_actions", good_cause, good_signature, "[[rule]]\nremedy = \"none\"\n",
                "key 'actions' is missing"},
        Refused{"rule_twice", good_cause, good_signature,
                "[[rule]]\nremedy = \"none\"\nactions = []\n[[rule]]\nremedy = \"none\"\nactions = "
                "[]\n",
                "p.toml:4: 'remedy none' stands already at p.toml:1"},
        Refused{"rule_cause_unknown", good_cause, good_signature,
                "[[rule]]\ncause = \"gpu.x\"\nactions = []\n", "p.toml:1: no cause 'gpu.x'"},
        Refused{"rule_returns", good_cause, good_signature,
                "[[rule]]\nremedy = \"none\"\nactions = [\"return_node\"]\n",
                "never proposed by a rule"},
        Refused{"limit_unknown", good_cause, good_signature, "[limits]\nlateness_s = 3\n",
                "p.toml:2: unknown key 'lateness_s'"},
        Refused{"limit_share", good_cause, good_signature, "[limits]\ndrained_share_max = 1.5\n",
                "must be a number from"},
        Refused{"limit_nan", good_cause, good_signature, "[limits]\ndrained_share_max = nan\n",
                "must be a number from"},
        Refused{"limit_negative", good_cause, good_signature, "[limits]\nverdict_age_max_s = -1\n",
                "must be an integer from 0"}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(Catalog, LimitsOverrideOnlyWhatTheyName) {
  CatalogParser parser;
  ASSERT_TRUE(parser
                  .add_policies("[limits]\nlateness_ms = 250\napproval_needed = "
                                "[\"drain_node\"]\ndrained_share_max = 1\n",
                                "p.toml")
                  .ok());
  const auto catalog = parser.finish();
  ASSERT_TRUE(catalog.ok());
  const PolicyLimits& limits = catalog->policy().limits;
  EXPECT_EQ(limits.lateness, std::chrono::milliseconds{250});
  EXPECT_EQ(limits.approval_needed, std::vector<ActionKind>{ActionKind::drain_node});
  EXPECT_EQ(limits.drained_share_max, 1.0);
  EXPECT_EQ(limits.verdict_age_max, PolicyLimits{}.verdict_age_max);
  EXPECT_EQ(limits.drains_per_hour_max, PolicyLimits{}.drains_per_hour_max);
}

TEST(Catalog, ASecondLimitsTableIsRefused) {
  CatalogParser parser;
  ASSERT_TRUE(parser.add_policies("[limits]\n", "a.toml").ok());
  const auto status = parser.add_policies("[limits]\n", "b.toml");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "b.toml:1: [limits] stands already at a.toml:1");
}

TEST(Catalog, ARuleForACauseBeatsItsRemedys) {
  PolicyBook book;
  book.rules = {{"", Remedy::reset_gpu, {ActionKind::drain_node, ActionKind::notify}},
                {"gpu.odd", std::nullopt, {}}};
  EXPECT_EQ(book.actions_for("gpu.other", Remedy::reset_gpu),
            (std::vector<ActionKind>{ActionKind::drain_node, ActionKind::notify}));
  EXPECT_TRUE(book.actions_for("gpu.odd", Remedy::reset_gpu).empty());
  EXPECT_TRUE(book.actions_for("gpu.other", Remedy::none).empty());
}

TEST(Catalog, FingerprintChangesWithWhatIsCompiled) {
  const auto fingerprint = [](std::string_view signatures) {
    CatalogParser parser;
    EXPECT_TRUE(parser.add_causes(cause_text, "c.toml").ok());
    EXPECT_TRUE(parser.add_signatures(signatures, "s.toml").ok());
    const auto catalog = parser.finish();
    return catalog.ok() ? catalog->fingerprint() : catalog.error().message;
  };
  const auto base = fingerprint(signature_text);
  EXPECT_EQ(base, fingerprint(with(signature_text, "severity", "severity = \"error\"")));
  EXPECT_NE(base, fingerprint(with(signature_text, "id", "id = \"xid.80\"")));
  EXPECT_NE(base, fingerprint(with(signature_text, "layer", "layer = \"application\"")));
  EXPECT_NE(base, fingerprint(with(signature_text, "pattern", "pattern = '(y)'")));
}

class ShippedCatalog : public testing::Test {
 protected:
  void SetUp() override {
    auto loaded = Catalog::load(FAULTLINE_SOURCE_CATALOG_DIR);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    catalog_ = std::move(loaded).value();
  }
  Catalog catalog_;
};

TEST_F(ShippedCatalog, HasARuleForEveryRemedy) {
  for (int i = 0; i <= static_cast<int>(Remedy::replace_part); ++i) {
    const auto remedy = static_cast<Remedy>(i);
    const auto& rules = catalog_.policy().rules;
    EXPECT_TRUE(std::any_of(rules.begin(), rules.end(), [&](const auto& rule) {
      return rule.remedy == remedy;
    })) << to_text(remedy);
  }
}

TEST_F(ShippedCatalog, DrainsOnlyForRemediesThatConcernTheNode) {
  for (const auto& cause : catalog_.causes()) {
    const auto actions = catalog_.policy().actions_for(cause.id, cause.remedy);
    const bool drains =
        std::find(actions.begin(), actions.end(), ActionKind::drain_node) != actions.end();
    if (cause.id == "node.repeat_offender") continue;  // history convicts it, whatever broke
    EXPECT_EQ(drains, concerns_node(cause.remedy)) << cause.id;
  }
}

TEST_F(ShippedCatalog, LimitsAreTheBuiltInOnes) {
  const PolicyLimits& limits = catalog_.policy().limits;
  const PolicyLimits built_in;
  EXPECT_EQ(limits.verdict_age_max, built_in.verdict_age_max);
  EXPECT_EQ(limits.view_age_max, built_in.view_age_max);
  EXPECT_EQ(limits.lateness, built_in.lateness);
  EXPECT_EQ(limits.repeat_window, built_in.repeat_window);
  EXPECT_EQ(limits.drains_per_hour_max, built_in.drains_per_hour_max);
  EXPECT_EQ(limits.drained_at_once_max, built_in.drained_at_once_max);
  EXPECT_EQ(limits.drained_share_max, built_in.drained_share_max);
  EXPECT_EQ(limits.available_share_min, built_in.available_share_min);
  EXPECT_EQ(limits.requeues_per_job_per_hour_max, built_in.requeues_per_job_per_hour_max);
  EXPECT_EQ(limits.same_cause_nodes_max, built_in.same_cause_nodes_max);
  EXPECT_EQ(limits.same_cause_window, built_in.same_cause_window);
  EXPECT_EQ(limits.approval_needed, built_in.approval_needed);
}

TEST_F(ShippedCatalog, FindsEverySignatureAndCauseById) {
  for (const auto& signature : catalog_.signatures())
    EXPECT_EQ(catalog_.signature(signature.id), &signature);
  for (const auto& cause : catalog_.causes()) EXPECT_EQ(catalog_.cause(cause.id), &cause);
}

TEST(Catalog, AMissingFolderIsNamed) {
  const auto loaded = Catalog::load("/nonexistent/catalog");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::not_found);
  EXPECT_NE(loaded.error().message.find("/nonexistent/catalog/causes"), std::string::npos);
}

}  // namespace
}  // namespace faultline
