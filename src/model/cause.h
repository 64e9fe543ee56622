// Cause: a stable id in the catalog with what a person needs to know about it. Never free text.
#pragma once

#include <string>
#include <vector>

#include "base/enum_text.h"

namespace faultline {

enum class CauseClass {
  gpu,
  node,
  link,
  nic,
  network_switch,
  storage,
  power_thermal,
  silent_corruption,
  software,
  environment,
  workload,
  unknown
};
FAULTLINE_ENUM_NAMES(CauseClass, "gpu", "node", "link", "nic", "switch", "storage", "power_thermal",
                     "silent_corruption", "software", "environment", "workload", "unknown");

enum class Severity { info, warning, error, critical, fatal };
FAULTLINE_ENUM_NAMES(Severity, "info", "warning", "error", "critical", "fatal");

/// What the knowledge behind a cause asks for. The last four concern the node.
enum class Remedy {
  none,
  fix_workload,
  fix_environment,
  restart_job,
  investigate,
  reset_gpu,
  reboot_node,
  isolate_node,
  replace_part
};
FAULTLINE_ENUM_NAMES(Remedy, "none", "fix_workload", "fix_environment", "restart_job",
                     "investigate", "reset_gpu", "reboot_node", "isolate_node", "replace_part");

inline bool concerns_node(Remedy remedy) { return remedy >= Remedy::reset_gpu; }

struct Cause {
  std::string id;  // "gpu.ecc_uncorrectable"
  CauseClass cause_class = CauseClass::unknown;
  Severity severity = Severity::error;
  Remedy remedy = Remedy::none;
  std::string summary;      // one line
  std::string explanation;  // two to four sentences
  std::string next_step;    // imperative
  std::vector<std::string> cases;
};

/// A program's or an environment's fault: a verdict's subject then says where it happened, which is
/// nothing against that node.
inline bool blames_no_node(const Cause& cause) {
  return cause.cause_class == CauseClass::software ||
         cause.cause_class == CauseClass::environment || cause.cause_class == CauseClass::workload;
}

}  // namespace faultline
