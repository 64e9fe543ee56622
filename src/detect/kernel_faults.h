// What the kernel lines of one node amount to. One broken part prints many lines: several codes for
// one event, the same code again and again, and lines about healthy neighbours that only felt it.
// Here they are folded into one fault per part, with the first cause in front.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "detect/event_window.h"

namespace faultline {

/// Identical or related lines of one part this close belong to one event (the Delta study coalesces
/// within 5 s).
inline constexpr Duration burst_gap = std::chrono::seconds{5};
/// Later codes of a part that is broken already, and lines of its neighbours, belong to the same
/// incident.
inline constexpr Duration incident_span = std::chrono::minutes{10};
/// After a GPU has gone, its peers and the switches report their links to it as broken (a sample
/// shows 12 s).
inline constexpr Duration lost_gpu_echo = std::chrono::seconds{15};

/// The kernel's first line as the machine starts.
inline constexpr std::string_view boot_signature = "kernel.boot";
/// A boot before which nothing tells of a shutdown. Of several nodes within minutes it blames none.
inline constexpr std::string_view unclean_boot_signature = "boot.unclean";
/// Nodes that lost their power together come back one after the other.
inline constexpr Duration reboots_together_max = std::chrono::minutes{10};

struct KernelFault {
  const Cause* cause = nullptr;
  Subject subject;
  bool decisive = false;  // names its subject by itself; else a second witness or context is needed
  bool program = false;   // the program's doing: no blame on the node
  bool brief = false;     // over at once: nothing, but for a job that lost a transfer just then
  bool inferred = false;  // the line that would prove it is not there: stays suspected
  Instant ready_at;       // companions have been waited for
  FactList evidence;      // first cause first
  FactList leads;         // warnings before it that point at the same part
  FactList consequences;
  std::vector<std::string> missing;
  std::string note;  // a sentence for people
  double confidence = 0;

  [[nodiscard]] Instant since() const { return evidence.front()->at; }
};

/// `facts`: the kernel lines of one node, ordered by time. The result points to them.
std::vector<KernelFault> judge_kernel_facts(const FactList& facts, const Catalog& catalog);
std::vector<KernelFault> judge_kernel_facts(const std::vector<Fact>& facts, const Catalog& catalog);

/// True for what the kernel reports of a program's access or arithmetic (Xid 13, 31).
bool faults_of_programs(const Signature& signature);

/// nullptr if the catalog does not know it.
const Signature* signature_of(const Fact& fact, const Catalog& catalog);

/// The cause of a fact's signature; nullptr if the catalog knows neither.
const Cause* cause_of(const Fact& fact, const Catalog& catalog);

/// What a verdict about this fact is about: the part where it has an address, the node for things
/// inside it that the scheduler does not know (an NVSwitch).
Subject subject_of(const Fact& fact, const Catalog& catalog);

/// The attempt or job that an event is about; job "unknown" where nobody says which.
Subject job_of(const Event& event);

/// True if the subject is a device with an address of its own, so that "the same GPU" can be said.
inline bool names_part(const Subject& subject) { return !subject.part.empty(); }

/// Program or bad GPU? See program_faults.cc.
std::vector<KernelFault> judge_program_faults(const FactList& facts, const Catalog& catalog);

}  // namespace faultline
