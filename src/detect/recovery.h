// Whether what a line reported was over soon: lines of signatures that clear others.
#pragma once

#include <vector>

#include "catalog/catalog.h"
#include "detect/event_window.h"

namespace faultline {

enum class Recovery {
  none,
  late,     // it was over, but it may have cost somebody something
  in_time,  // as if it had never been
};

/// The facts and the catalog must outlive it.
class Recoveries {
 public:
  Recoveries(const std::vector<Fact>& facts, const Catalog& catalog);

  /// A clearing signature with a `settle` time has to come within it to be in time, and what comes
  /// back again and again has not recovered.
  [[nodiscard]] Recovery of(const Fact& fact) const;

 private:
  [[nodiscard]] bool flaps(const Fact& fact) const;

  const std::vector<Fact>& facts_;
  const Catalog& catalog_;
  std::vector<const Fact*> clearing_;
};

}  // namespace faultline
