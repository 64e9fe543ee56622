// When do two failures on one node count as two witnesses?
//
// A user writes everything that his job prints, its exit codes and signals, its name, when it
// fails, how often, and through --nodelist also where. The scheduler's record of such an end is a
// witness that the attempt failed and none that the node is bad. So two jobs of one user that print
// "ECC error" on a node are one witness who speaks twice, and no node is taken out for it. The
// second failure counts only with something beside it, the strongest first:
//
//   1. The kernel, NVML or the scheduler spoke of broken hardware on this very node, or the node
//      rebooted or was lost under one of the attempts. No job can write that. A line that is
//      ambiguous by itself (one reset of a drive, one link that went down) needs a second one of
//      the same cause, or another failure that names broken hardware, to mean this.
//   2. The two failures belong to different users, and neither is a plain exception of a program.
//      Ambiguous lines of the kernel need what they need above.
//   3. The same program went on without the node: another attempt of it, without the node, was
//      completed after the first failure, or lived longer than the one that failed. That is how a
//      broken node looks to the one user of a cluster. Somebody who is out to get a node can play
//      it, with patience; therefore one user's word takes out one node within the repeat window.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "detect/attempt_tracker.h"
#include "detect/event_window.h"

namespace faultline {

/// An attempt elsewhere that is not completed proves something once it has lived this long.
inline constexpr Duration ran_on_min = std::chrono::minutes{1};

/// What one failed attempt says about a node.
struct Blame {
  AttemptId attempt;
  std::string family;
  std::string user;
  std::string name;                // of the job
  std::string node;                // "" if hardware was named without a place
  std::vector<std::string> nodes;  // where it may have come from
  Instant started_at;
  Instant at;
  bool hardware = false;
  bool sure = false;  // of the cause
  std::string cause;
  bool program = false;  // a plain error of the program
  std::string key;       // cause and wording, to tell the same bug again
  std::string text;
  Event evidence;
  Event failing;  // the event that says the attempt failed

  /// Somebody spoke of broken hardware whose words no job can write.
  [[nodiscard]] bool told_from_outside() const;
  /// They did, and of this node.
  [[nodiscard]] bool seen_from_outside(const std::string& on) const {
    return told_from_outside() && node == on;
  }
  /// They did, though such a line alone need not mean broken hardware, or not of one node.
  [[nodiscard]] bool ambiguous() const { return told_from_outside() && !sure; }
};

struct Testimony {
  enum class Kind { none, own_word, independent };  // the stronger the later
  Kind kind = Kind::none;
  std::string text;
  std::string user;            // own_word: whose
  std::optional<Event> proof;  // beside what the failures bring themselves
  Instant since;               // when the later of the two failures happened
  Instant heard_at;            // and was learnt of
};

class SecondWitness {
 public:
  /// `catalog` must outlive it.
  explicit SecondWitness(const Catalog& catalog) : catalog_(catalog) {}

  void observe(const Event& event);
  /// What makes `a` and `b` two witnesses against `node`, `a` being the earlier one.
  [[nodiscard]] Testimony between(const Blame& a, const Blame& b, const std::string& node,
                                  const AttemptTracker& attempts, Instant now) const;
  [[nodiscard]] bool word_spent(const std::string& user, Instant now) const;
  /// True if this user's word may take out `node`; from then on it is spent.
  bool spend_word(const std::string& user, const std::string& node, Instant now);

 private:
  struct Word {
    std::string node;
    Instant at;
  };
  [[nodiscard]] bool expired(const Word& word, Instant now) const;
  [[nodiscard]] const Event* shaken(const Blame& blame, const std::string& node) const;

  const Catalog& catalog_;
  std::map<std::string, EventWindow> shaken_;  // by node: reboots and losses
  std::map<std::string, Word> spent_;          // by user
};

}  // namespace faultline
