// Whether what a line reported was over soon: lines of signatures that clear others.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "catalog/catalog.h"
#include "detect/event_window.h"

namespace faultline {

enum class Recovery {
  none,
  late,     // it was over, but it may have cost somebody something
  brief,    // over at once: of interest to whoever lost something by it, and to nobody else
  in_time,  // as if it had never been
};

/// Which part of its subject an event is about: of the processors of a node, of an adapter's ports.
/// What takes a line back is about the same.
std::string part_of(const Event& event);

/// The facts and the catalog must outlive it.
class Recoveries {
 public:
  Recoveries(const FactList& facts, const Catalog& catalog);

  /// A clearing signature with a `clears_within` never takes back all: it was brief if it came
  /// within that. What comes back again and again has not recovered.
  [[nodiscard]] Recovery of(const Fact& fact) const;

 private:
  [[nodiscard]] bool flaps(const Fact& fact) const;

  /// A signature, and what it is about.
  using Kind = std::pair<std::string, Subject>;

  const Catalog& catalog_;
  std::map<Kind, FactList> clearing_;  // by the signature that is cleared
  std::map<Kind, FactList> cleared_;   // what it may take back
};

}  // namespace faultline
