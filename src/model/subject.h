// Subject: the typed address of what an event or verdict is about. Never a bare string.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/enum_text.h"

namespace faultline {

enum class SubjectKind {
  cluster,
  rack,
  node,
  gpu,
  nic,
  link,
  network_switch,
  storage,
  job,
  attempt,
  rank,
  communicator,
  data_parallel_group
};
FAULTLINE_ENUM_NAMES(SubjectKind, "cluster", "rack", "node", "gpu", "nic", "link", "switch",
                     "storage", "job", "attempt", "rank", "communicator", "data_parallel_group");

/// One run of a job: requeues reuse the job id, so `restart` counts them (0 = first run).
struct AttemptId {
  std::string job;  // "123", "123_4", "123+1"
  std::uint32_t restart = 0;

  auto operator<=>(const AttemptId&) const = default;
  /// "123_4#0"
  [[nodiscard]] std::string text() const;
  static std::optional<AttemptId> parse(std::string_view text);
};

struct Subject {
  SubjectKind kind = SubjectKind::cluster;
  std::string node;   // node, gpu, nic, link: the host; rank: the host it ran on, if known
  std::string part;   // gpu: PCI address; nic, link: device; rack, switch, storage, communicator,
                      // group: name
  AttemptId attempt;  // job (restart is 0), attempt, rank, communicator, data-parallel group
  std::int32_t rank = -1;

  auto operator<=>(const Subject&) const = default;

  static Subject of_cluster() { return {}; }
  static Subject of_rack(std::string name) {
    return {SubjectKind::rack, {}, std::move(name), {}, -1};
  }
  static Subject of_node(std::string node) {
    return {SubjectKind::node, std::move(node), {}, {}, -1};
  }
  static Subject of_gpu(std::string node, std::string_view pci_address);
  static Subject of_nic(std::string node, std::string device);
  static Subject of_link(std::string node, std::string device);
  static Subject of_switch(std::string name) {
    return {SubjectKind::network_switch, {}, std::move(name), {}, -1};
  }
  static Subject of_storage(std::string target) {
    return {SubjectKind::storage, {}, std::move(target), {}, -1};
  }
  static Subject of_job(std::string job) {
    return {SubjectKind::job, {}, {}, {std::move(job), 0}, -1};
  }
  /// The job that a kernel line is about and does not name.
  static Subject of_unnamed_job() { return of_job("unknown"); }
  static Subject of_attempt(AttemptId attempt) {
    return {SubjectKind::attempt, {}, {}, std::move(attempt), -1};
  }
  static Subject of_rank(AttemptId attempt, std::int32_t rank, std::string node = {});

  /// "node:n3", "gpu:n3/0000:3b:00.0", "job:123_4", "attempt:123_4#1", "rank:123_4#1/17@n3",
  /// "storage:nfs1", "cluster".
  [[nodiscard]] std::string text() const;
  static std::optional<Subject> parse(std::string_view text);
};

/// True if `subject` is a node or a part of one (gpu, nic, link).
bool concerns_node(const Subject& subject);

}  // namespace faultline
