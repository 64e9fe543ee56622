// The catalog: shipped knowledge as values. Loaded once at start from catalog/*.toml; immutable and
// safe to share between threads afterwards. docs/formats.md describes the files.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/action.h"
#include "model/cause.h"
#include "model/event.h"

namespace faultline {

/// Which sources a signature is matched on. A job's log is never matched against kernel signatures.
enum class Layer { kernel, scheduler, application };
FAULTLINE_ENUM_NAMES(Layer, "kernel", "scheduler", "application");

enum class SignatureUse { primary, detail, parser, identity, clears };
FAULTLINE_ENUM_NAMES(SignatureUse, "primary", "detail", "parser", "identity", "clears");

enum class Role { root, consequence, noise };
FAULTLINE_ENUM_NAMES(Role, "root", "consequence", "noise");

enum class Strength { decisive, ambiguous, lead };
FAULTLINE_ENUM_NAMES(Strength, "decisive", "ambiguous", "lead");

struct Signature {
  std::string id;
  Layer layer = Layer::kernel;
  std::string pattern;
  std::string filter;  // matches every line that the pattern matches, and is faster; may be empty
  std::vector<std::string> captures;
  std::string cause;
  SignatureUse use = SignatureUse::primary;
  Role role = Role::noise;
  Strength strength = Strength::ambiguous;
  Severity severity = Severity::info;
  SubjectKind subject = SubjectKind::node;
  Duration settle{0};
  Duration clears_within{
      0};  // of a clearing one: later it takes nothing back; 0: whenever it comes
  std::string clears;
  std::string note;
  std::string source;
};

/// What a person needs to know about a rule that names causes; its code is in src/detect.
struct RuleText {
  std::string id;  // as in Verdict::rule, or the detector's name where it has one rule
  std::string detector;
  std::string summary;    // one line
  std::string reasoning;  // two to five sentences
  std::string source;
};

/// A failure that others have made public, to compare with.
struct PublicCase {
  std::string id;     // "GT-004", as causes name it
  std::string title;  // one line
  std::string by;     // who told of it, and when
  std::string link;   // https://...; "" where there is no page of it
};

/// Maps a cause or a remedy to what faultline proposes. A rule with a cause beats one with a
/// remedy.
struct PolicyRule {
  std::string cause;  // "" if the rule is for a remedy
  std::optional<Remedy> remedy;
  std::vector<ActionKind> actions;  // in the order in which they are carried out
};

/// Limits of the guards; every one can be overridden in serve.toml.
struct PolicyLimits {
  Duration verdict_age_max = std::chrono::minutes{10};  // older evidence does not act
  Duration view_age_max = std::chrono::seconds{30};     // older scheduler answers do not count
  Duration lateness = std::chrono::seconds{3};          // how long late events are waited for
  Duration repeat_window = std::chrono::hours{24};      // two failures with a node in common
  int drains_per_hour_max = 6;
  int drained_at_once_max = 4;        // by faultline, absolute
  double drained_share_max = 0.10;    // by faultline, of all nodes (at least 1 is always allowed)
  double available_share_min = 0.50;  // capacity floor: of all nodes
  int requeues_per_job_per_hour_max = 3;  // restart loop
  int same_cause_nodes_max = 3;  // more nodes than this with one cause in same_cause_window:
  Duration same_cause_window =
      std::chrono::minutes{1};         //   a shared cause is likelier; nothing more is drained
  double words_confidence_min = 0.65;  // below it a job's own words do not even exclude a node
  Duration words_test_interval_min =   // an idle node is tested this often at most because a job
      std::chrono::hours{1};           //   says that it is broken
  std::vector<ActionKind> approval_needed;  // kinds that always ask a person
};

struct PolicyBook {
  std::vector<PolicyRule> rules;
  PolicyLimits limits;

  /// The actions for a cause with this remedy; empty if no rule fits.
  [[nodiscard]] std::vector<ActionKind> actions_for(std::string_view cause, Remedy remedy) const;
};

class Catalog {
 public:
  /// Reads causes/, signatures/, policies/ and, where they are there, rules/ and cases/ below
  /// `folder`. Any error refuses the whole catalog, with file and line.
  static Result<Catalog> load(const std::filesystem::path& folder);

  /// nullptr if there is none.
  [[nodiscard]] const Cause* cause(std::string_view id) const;
  [[nodiscard]] const Signature* signature(std::string_view id) const;
  [[nodiscard]] const RuleText* rule(std::string_view id) const;
  [[nodiscard]] const PublicCase* public_case(std::string_view id) const;

  [[nodiscard]] const std::vector<Signature>& signatures() const {
    return signatures_;
  }                                                                            // ordered by id
  [[nodiscard]] const std::vector<RuleText>& rules() const { return rules_; }  // ordered by id
  [[nodiscard]] const std::vector<Cause>& causes() const { return causes_; }   // ordered by id
  [[nodiscard]] const std::vector<PublicCase>& public_cases() const {
    return public_cases_;
  }  // ordered by id
  [[nodiscard]] const PolicyBook& policy() const { return policy_; }

  /// Changes with any signature's id, pattern or layer: the key of the compiled database's cache.
  [[nodiscard]] std::string fingerprint() const;

 private:
  friend class CatalogParser;  // fills it from text
  std::vector<Cause> causes_;
  std::vector<Signature> signatures_;
  std::vector<RuleText> rules_;
  std::vector<PublicCase> public_cases_;
  PolicyBook policy_;
};

}  // namespace faultline
