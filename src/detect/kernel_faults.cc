// The steps, in this order: drop what a later line took back; set the program's own faults aside;
// group the rest by part and burst; fold companions; fold volumes that fail together; fold what a
// lost GPU made its neighbours say; infer a switch that failed unseen; attach leads and
// consequences; and at last, where the driver says "caused by previous Xid N" and the line of N is
// not there, infer it.
#include "detect/kernel_faults.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "detect/cause_ids.h"
#include "detect/confidence.h"
#include "detect/derived_lines.h"
#include "detect/injected_faults.h"
#include "detect/recovery.h"
#include "detect/switch_failure.h"
#include "detect/volume_failures.h"

namespace faultline {
namespace {

struct Sorted {
  FactList roots;
  FactList leads;
  FactList consequences;
  FactList program;
  FactList derived;  // "caused by previous Xid N"
};

/// The Slurm job of a control group's path ".../job_77/step_0"; "" if it is not one.
std::string slurm_job_in(std::string_view path) {
  const auto at = path.find("/job_");
  if (at == std::string_view::npos) return {};
  const std::string_view job = path.substr(at + 5);
  const auto end = std::min(job.find_first_not_of("0123456789"), job.size());
  return std::string(job.substr(0, end));
}

Sorted sort_by_role(const FactList& facts, const Recoveries& recoveries, const Catalog& catalog) {
  Sorted sorted;
  for (const Fact* fact : facts) {
    const Signature* signature = signature_of(*fact, catalog);
    if (signature == nullptr || signature->use == SignatureUse::clears) continue;
    if (signature->use == SignatureUse::identity || signature->subject == SubjectKind::storage)
      continue;
    if (!fact->event.field("root_xid").empty()) {
      sorted.derived.push_back(fact);
    } else if (signature->role == Role::consequence) {
      sorted.consequences.push_back(fact);
    } else if (signature->role != Role::root || recoveries.of(*fact) == Recovery::in_time) {
      continue;
    } else if (faults_of_programs(*signature)) {
      sorted.program.push_back(fact);
    } else if (signature->strength == Strength::lead) {
      sorted.leads.push_back(fact);
    } else {
      sorted.roots.push_back(fact);
    }
  }
  return sorted;
}

/// The one GPU that lines of the same burst name; nullopt if none or several do.
std::optional<Subject> gpu_named_beside(const Fact& fact, const FactList& roots,
                                        const Catalog& catalog) {
  std::optional<Subject> named;
  for (const Fact* other : roots) {
    const Duration apart = other->at > fact.at ? other->at - fact.at : fact.at - other->at;
    const Subject subject = subject_of(*other, catalog);
    if (apart > burst_gap || subject.kind != SubjectKind::gpu ||
        subject.node != node_of(fact.event))
      continue;
    if (named && *named != subject) return std::nullopt;
    named = subject;
  }
  return named;
}

/// A line that does not name its place may have a companion that does: "GPU6 ... Heartbeat timed
/// out" the driver's Xid with the address, "GPU is probably locked" whatever Xid comes with it, the
/// second line of an out-of-memory kill the first one,
/// whose control group names the job.
Subject placed(const Fact& fact, const FactList& roots, const Catalog& catalog) {
  const Subject own = subject_of(fact, catalog);
  const bool seeks_gpu =
      own.kind == SubjectKind::node && signature_of(fact, catalog)->subject == SubjectKind::gpu;
  const std::string_view pid = fact.event.field("pid");
  const bool seeks_job = own == Subject::of_unnamed_job() && !pid.empty();
  if (!seeks_gpu && !seeks_job) return own;
  for (const Fact* other : roots) {
    if (seeks_job && other->event.field("pid") != pid) continue;
    if (seeks_gpu && !names_part(other->event.subject)) continue;
    if (cause_of(*other, catalog) != cause_of(fact, catalog)) continue;
    const Duration apart = other->at > fact.at ? other->at - fact.at : fact.at - other->at;
    const Subject named = subject_of(*other, catalog);
    if (named != own && apart <= incident_span) return named;
  }
  return seeks_gpu ? gpu_named_beside(fact, roots, catalog).value_or(own) : own;
}

bool asks_for_node(const Cause* cause) { return concerns_node(cause->remedy); }

bool is_decisive(const Fact& fact, const Catalog& catalog) {
  return signature_of(fact, catalog)->strength == Strength::decisive;
}

/// What the driver asks for, as against what broke (Xid 154).
bool is_wish(const Cause* cause) { return cause->id.starts_with(cause_id::recovery_prefix); }

/// Ready when the lines that carry the cause, or the driver's wish, have waited for companions.
Instant ready_at(const KernelFault& fault, const Catalog& catalog) {
  std::optional<Instant> ready;
  for (const Fact* fact : fault.evidence) {
    const Cause* cause = cause_of(*fact, catalog);
    if (cause != fault.cause && !is_wish(cause)) continue;
    const Instant waited = fact->arrived + signature_of(*fact, catalog)->settle;
    ready = ready ? std::min(*ready, waited) : waited;
  }
  return ready.value_or(fault.evidence.front()->arrived);
}

bool has_cause(const FactList& burst, std::string_view cause, const Catalog& catalog) {
  return std::any_of(burst.begin(), burst.end(),
                     [&](const Fact* fact) { return cause_of(*fact, catalog)->id == cause; });
}

/// An uncorrectable error that the GPU contained to one process costs that process and nothing
/// else, as long as nothing in the same burst says that it spread or that the repair failed.
bool contained(const FactList& burst, const Catalog& catalog) {
  return has_cause(burst, cause_id::ecc_contained, catalog) &&
         !has_cause(burst, cause_id::ecc_uncontained, catalog) &&
         !has_cause(burst, cause_id::ecc_escape, catalog) &&
         !has_cause(burst, cause_id::row_remap_failed, catalog);
}

/// What one burst says, by rank: a decisive cause that asks for something on the node; an ambiguous
/// one, which the driver's wish makes certain; the wish alone; anything else.
struct BurstCauses {
  const Cause* strong = nullptr;
  const Cause* weak = nullptr;
  const Cause* wish = nullptr;
  const Cause* other = nullptr;

  void take(const Cause* cause, bool decisive) {
    const Cause** place = !asks_for_node(cause) ? &other
                          : is_wish(cause)      ? &wish
                          : decisive            ? &strong
                                                : &weak;
    if (*place == nullptr) *place = cause;
  }
  [[nodiscard]] const Cause* leading() const {
    return strong != nullptr ? strong : weak != nullptr ? weak : wish != nullptr ? wish : other;
  }
};

/// One burst of one part gives one fault.
KernelFault fault_of_burst(const Subject& subject, const FactList& burst, const Catalog& catalog) {
  const bool is_contained = contained(burst, catalog);
  KernelFault fault;
  fault.subject = subject;
  fault.evidence = burst;
  BurstCauses causes;
  for (const Fact* fact : burst) {
    const Cause* cause = cause_of(*fact, catalog);
    if (is_contained && cause->id == cause_id::ecc_uncorrectable)
      cause = catalog.cause(cause_id::ecc_contained);
    causes.take(cause, is_decisive(*fact, catalog));
  }
  fault.cause = causes.leading();
  // The error is what led there; that it can not be repaired is what has to be acted upon.
  if (has_cause(burst, cause_id::row_remap_failed, catalog))
    fault.cause = catalog.cause(cause_id::row_remap_failed);
  fault.decisive = asks_for_node(fault.cause)
                       ? causes.strong != nullptr || causes.wish != nullptr
                       : std::any_of(burst.begin(), burst.end(),
                                     [&](const Fact* fact) { return is_decisive(*fact, catalog); });
  fault.confidence = fault.decisive ? confidence::proven : confidence::even;
  fault.ready_at = ready_at(fault, catalog);
  // A process that is gone is nothing to the node, and a reason to whoever lost its connection.
  fault.brief = fault.cause->id == cause_id::crash_signal;
  if (fault.cause->id == cause_id::ecc_contained) {
    fault.note =
        "The error was contained to one process: that job has to restart, other work on the node "
        "may go on.";
  }
  return fault;
}

/// The faults of one part over time: a burst joins the fault before it if it repeats its cause, or
/// if that fault has broken the part already and was recent.
void add_bursts(const Subject& subject, const FactList& roots, const Catalog& catalog,
                std::vector<KernelFault>& faults) {
  const std::size_t first_of_part = faults.size();
  std::size_t begin = 0;
  while (begin < roots.size()) {
    std::size_t end = begin + 1;
    while (end < roots.size() && roots[end]->at - roots[end - 1]->at <= burst_gap) ++end;
    KernelFault next = fault_of_burst(subject,
                                      {roots.begin() + static_cast<std::ptrdiff_t>(begin),
                                       roots.begin() + static_cast<std::ptrdiff_t>(end)},
                                      catalog);
    begin = end;
    const auto same = std::find_if(
        faults.begin() + static_cast<std::ptrdiff_t>(first_of_part), faults.end(),
        [&](const KernelFault& fault) {
          const bool recent = next.since() - fault.evidence.back()->at <= incident_span;
          const bool broken = asks_for_node(fault.cause) && (fault.decisive || is_wish(next.cause));
          return fault.cause == next.cause || (broken && recent && names_part(subject));
        });
    if (same == faults.end()) {
      faults.push_back(std::move(next));
    } else {
      same->evidence.insert(same->evidence.end(), next.evidence.begin(), next.evidence.end());
      const bool agrees = next.cause == same->cause || is_wish(next.cause);
      same->decisive = same->decisive || (next.decisive && agrees);
      same->confidence =
          std::max(same->confidence, same->decisive ? confidence::proven : confidence::even);
    }
  }
}

/// What was over before long may have cost a job its connections, and is no reason to take the node
/// out.
void weaken_recovered(std::vector<KernelFault>& faults, const Recoveries& recoveries) {
  for (KernelFault& fault : faults) {
    const auto all_are = [&](auto wanted) {
      return std::all_of(fault.evidence.begin(), fault.evidence.end(),
                         [&](const Fact* fact) { return wanted(recoveries.of(*fact)); });
    };
    if (fault.decisive || !all_are([](Recovery how) { return how != Recovery::none; })) continue;
    fault.brief = all_are([](Recovery how) { return how == Recovery::brief; });
    fault.confidence = confidence::weak;
    fault.note = fault.brief ? "It was over within seconds." : "It was over within minutes.";
  }
}

/// Does a GPU in this state make its neighbours report their links to it? One that fell off the bus
/// does so to switches and peers, one whose NVLink went down to its peers.
bool echoes(const KernelFault& origin, const KernelFault& other) {
  const CauseClass kind = other.cause->cause_class;
  if (origin.cause->id == cause_id::fell_off_bus)
    return kind == CauseClass::link || kind == CauseClass::network_switch;
  return origin.cause->id == cause_id::nvlink_down && other.cause->id == cause_id::nvlink5;
}

void fold_echoes(std::vector<KernelFault>& faults) {
  for (KernelFault& origin : faults) {
    if (origin.evidence.empty()) continue;
    for (KernelFault& other : faults) {
      if (&other == &origin || other.evidence.empty() || !echoes(origin, other)) continue;
      const Duration after = other.since() - origin.since();
      if (after < Duration{0} || after > lost_gpu_echo) continue;
      origin.consequences.insert(origin.consequences.end(), other.evidence.begin(),
                                 other.evidence.end());
      other.evidence.clear();
    }
  }
  std::erase_if(faults, [](const KernelFault& fault) { return fault.evidence.empty(); });
}

bool about_pcie(std::string_view cause) { return cause.find(".pcie") != std::string_view::npos; }

/// A warning supports a fault of the same device; one about a PCIe link also that of a device which
/// was lost from PCIe.
bool supports(const Fact& lead, const KernelFault& fault, const Catalog& catalog) {
  const Duration before = fault.since() - lead.at;
  if (before > incident_span || before < -burst_gap) return false;
  if (names_part(lead.event.subject) && lead.event.subject == fault.subject) return true;
  return about_pcie(cause_of(lead, catalog)->id) &&
         (fault.cause->id == cause_id::fell_off_bus || about_pcie(fault.cause->id));
}

std::string address_in(const Fact& lead) {
  for (const std::string_view name : {"dev", "port", "bdf", "src_bdf"}) {
    const std::string_view value = lead.event.field(name);
    if (value.find(':') != std::string_view::npos) return std::string(value);
  }
  return names_part(lead.event.subject) ? lead.event.subject.part : std::string{};
}

void attach_leads(KernelFault& fault, const FactList& leads, const Catalog& catalog) {
  std::set<std::string> places;
  for (const Fact* lead : leads) {
    if (!supports(*lead, fault, catalog)) continue;
    fault.leads.push_back(lead);
    if (about_pcie(cause_of(*lead, catalog)->id)) places.insert(address_in(*lead));
  }
  places.erase("");
  if (!places.empty()) {
    if (!fault.note.empty()) fault.note += ' ';
    fault.note += "PCIe errors at " + join(places, ", ") +
                  " came with it: look at that slot, riser or cable, too.";
  }
}

void attach_consequences(KernelFault& fault, const FactList& consequences) {
  for (const Fact* fact : consequences) {
    const Duration after = fact->at - fault.since();
    if (after < -burst_gap || after > incident_span) continue;
    if (!names_part(fact->event.subject) || !names_part(fault.subject) ||
        fact->event.subject == fault.subject) {
      fault.consequences.push_back(fact);
    }
  }
}

void fold_derived(const FactList& derived, const FactList& facts, const Catalog& catalog,
                  std::vector<KernelFault>& faults) {
  FactList orphans;
  for (const Fact* fact : derived) {
    const Fact* root = named_root(*fact, facts);
    if (root == nullptr) {
      orphans.push_back(fact);
      continue;
    }
    for (KernelFault& fault : faults) {
      if (std::find(fault.evidence.begin(), fault.evidence.end(), root) != fault.evidence.end()) {
        fault.consequences.push_back(fact);
      }
    }
  }
  // Where some root is known, teardown that names another one adds nothing that could be trusted
  // more.
  if (faults.empty()) {
    if (auto fault = infer_root(orphans, catalog)) faults.push_back(std::move(*fault));
  }
}

/// A lost GPU is among them too: what its switches then say is its echo.
bool names_switch(const std::vector<KernelFault>& faults) {
  return std::any_of(faults.begin(), faults.end(), [](const KernelFault& fault) {
    return fault.cause->id == cause_id::nvswitch_fatal || fault.cause->id == cause_id::fell_off_bus;
  });
}

/// Of one instant, in the order in which they were written.
bool is_earlier(const KernelFault& a, const KernelFault& b, const FactList& facts) {
  if (a.since() != b.since()) return a.since() < b.since();
  const Fact *first = a.evidence.front(), *other = b.evidence.front();
  if (first == other) return false;
  const auto same_time =
      std::lower_bound(facts.begin(), facts.end(), a.since(),
                       [](const Fact* fact, Instant at) { return fact->at < at; });
  const auto written = std::find_if(
      same_time, facts.end(), [&](const Fact* fact) { return fact == first || fact == other; });
  return written != facts.end() && *written == first;
}

/// One fault per cause and subject, however many times it happened.
std::vector<KernelFault> merge_same(std::vector<KernelFault> faults) {
  std::vector<KernelFault> merged;
  for (KernelFault& fault : faults) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const KernelFault& other) {
      return other.cause == fault.cause && other.subject == fault.subject;
    });
    if (same == merged.end()) {
      merged.push_back(std::move(fault));
      continue;
    }
    same->evidence.insert(same->evidence.end(), fault.evidence.begin(), fault.evidence.end());
    same->consequences.insert(same->consequences.end(), fault.consequences.begin(),
                              fault.consequences.end());
    if (same->confidence >= fault.confidence) continue;
    same->confidence = fault.confidence;
    same->decisive = fault.decisive;
    same->inferred = fault.inferred;
    same->note = fault.note;
    same->missing = fault.missing;
  }
  return merged;
}

}  // namespace

Subject subject_of(const Fact& fact, const Catalog& catalog) {
  if (const Cause* cause = cause_of(fact, catalog); cause != nullptr && blames_no_node(*cause))
    return job_of(fact.event);
  const Subject& subject = fact.event.subject;
  const bool placed =
      concerns_node(subject) && (subject.kind == SubjectKind::node || names_part(subject));
  return placed ? subject : Subject::of_node(node_of(fact.event));
}

Subject job_of(const Event& event) {
  if (event.attempt) return Subject::of_attempt(*event.attempt);
  if (const std::string job = slurm_job_in(event.field("memcg")); !job.empty())
    return Subject::of_job(job);
  const bool named = event.subject.kind == SubjectKind::job && !event.subject.attempt.job.empty();
  return named ? event.subject : Subject::of_unnamed_job();
}

bool faults_of_programs(const Signature& signature) {
  return signature.cause == cause_id::sm_exception || signature.cause == cause_id::mmu_fault;
}

const Signature* signature_of(const Fact& fact, const Catalog& catalog) {
  return fact.signature != nullptr ? fact.signature : catalog.signature(fact.event.signature);
}

const Cause* cause_of(const Fact& fact, const Catalog& catalog) {
  if (fact.cause != nullptr) return fact.cause;
  const Signature* signature = signature_of(fact, catalog);
  return signature == nullptr ? nullptr : catalog.cause(signature->cause);
}

std::vector<KernelFault> judge_kernel_facts(const FactList& facts, const Catalog& catalog) {
  const Recoveries recoveries(facts, catalog);
  const Sorted sorted = sort_by_role(facts, recoveries, catalog);
  std::map<Subject, FactList> parts;
  for (const Fact* fact : sorted.roots) {
    const Cause* cause = cause_of(*fact, catalog);
    if (cause != nullptr && cause->remedy != Remedy::none)
      parts[placed(*fact, sorted.roots, catalog)].push_back(fact);
  }
  std::vector<KernelFault> faults;
  for (const auto& [subject, roots] : parts) add_bursts(subject, roots, catalog, faults);
  weaken_recovered(faults, recoveries);
  fold_echoes(faults);
  fold_volumes(facts, catalog, faults);
  for (KernelFault& fault : faults) attach_leads(fault, sorted.leads, catalog);
  if (!names_switch(faults)) {
    if (auto fault = infer_switch_failure(sorted.leads, sorted.consequences, catalog))
      faults.push_back(std::move(*fault));
  }
  for (KernelFault& fault : judge_program_faults(sorted.program, catalog))
    faults.push_back(std::move(fault));
  for (KernelFault& fault : faults) attach_consequences(fault, sorted.consequences);
  fold_derived(sorted.derived, facts, catalog, faults);
  blame_injector(faults, facts, catalog);
  std::stable_sort(faults.begin(), faults.end(), [&](const KernelFault& a, const KernelFault& b) {
    return is_earlier(a, b, facts);
  });
  return merge_same(std::move(faults));
}

std::vector<KernelFault> judge_kernel_facts(const std::vector<Fact>& facts,
                                            const Catalog& catalog) {
  FactList list;
  list.reserve(facts.size());
  for (const Fact& fact : facts) list.push_back(&fact);
  return judge_kernel_facts(list, catalog);
}

}  // namespace faultline
