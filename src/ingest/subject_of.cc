#include "ingest/subject_of.h"

#include "base/text.h"
#include "model/names.h"

namespace faultline {
namespace {

constexpr std::int32_t rank_max = 10'000'000;

std::string field(const Fields& fields, std::string_view name) {
  const auto it = fields.find(name);
  return it == fields.end() ? std::string() : it->second;
}

std::string valid_node_or_none(std::string_view name) {
  return valid_node_name(name) ? std::string(name) : std::string();
}

std::string first_of(std::initializer_list<std::string> choices) {
  for (const auto& choice : choices) {
    if (!choice.empty()) return choice;
  }
  return {};
}

/// The hosts of "node17" or "node[17-30]", none if it is not a host list.
std::vector<std::string> hosts_of(const Fields& fields) {
  const auto hosts = expand_hostlist(field(fields, "hosts"));
  return hosts.ok() ? *hosts : std::vector<std::string>{};
}

/// A node that nobody named: known to be one, and nobody will act on it.
constexpr std::string_view unknown_node = "unknown";

/// A kernel log speaks of its own node; without a sure name for it, of whom its lines name.
std::string kernel_node(const LinePrefix& prefix, const Origin& origin) {
  const auto host = host_of_kernel_line(prefix);
  return origin.node_is_guess ? first_of({host, origin.node, std::string(unknown_node)})
                              : first_of({origin.node, host, std::string(unknown_node)});
}

/// The node that wrote the log, where that is known, be it by the log's name: a log of many ranks,
/// or that of a scheduler for all nodes, is only read there.
std::string writing_node(const Origin& origin) {
  const bool of_task = origin.source == EventSource::job_log && origin.rank >= 0;
  return of_task || origin.node_is_guess ? origin.node : std::string();
}

/// Where something that a line tells of itself happened. What it captured may be a container's
/// name, so it comes last.
std::string own_node(const Fields& fields, const LinePrefix& prefix, const Origin& origin) {
  if (origin.source == EventSource::kernel_log) return kernel_node(prefix, origin);
  const auto hosts = hosts_of(fields);
  return first_of({hosts.size() == 1 ? hosts.front() : std::string(),
                   valid_node_or_none(prefix.host), writing_node(origin),
                   valid_node_or_none(field(fields, "host"))});
}

/// Which nodes a line tells about: here what it captured comes first.
std::vector<std::string> told_nodes(const Fields& fields, const LinePrefix& prefix,
                                    const Origin& origin) {
  if (origin.source == EventSource::kernel_log) return {kernel_node(prefix, origin)};
  auto hosts = hosts_of(fields);
  if (hosts.size() > subjects_max) hosts.resize(subjects_max);
  if (!hosts.empty()) return hosts;
  const auto node = first_of({valid_node_or_none(field(fields, "host")),
                              valid_node_or_none(prefix.host), writing_node(origin)});
  return node.empty() ? std::vector<std::string>{} : std::vector<std::string>{node};
}

AttemptId attempt_of(const Origin& origin) {
  return origin.attempt.value_or(AttemptId{"unknown", 0});
}

Subject attempt_or_node(const std::string& node, const Origin& origin) {
  if (origin.source == EventSource::job_log) return Subject::of_attempt(attempt_of(origin));
  return node.empty() ? Subject::of_cluster() : Subject::of_node(node);
}

Subject rank_subject(const std::string& node, std::int32_t rank, const Origin& origin) {
  if (rank < 0 || origin.source != EventSource::job_log) return attempt_or_node(node, origin);
  return Subject::of_rank(attempt_of(origin), rank, node);
}

Subject gpu_subject(const Fields& fields, const std::string& node, std::int32_t rank,
                    const Origin& origin) {
  const auto bdf = field(fields, "bdf");
  if (!bdf.empty() && !node.empty()) return Subject::of_gpu(node, bdf);
  // A job's words name no address; its rank leads to the GPU.
  if (rank >= 0 && origin.source == EventSource::job_log) return rank_subject(node, rank, origin);
  return node.empty() ? attempt_or_node(node, origin) : Subject::of_node(node);
}

Subject nic_subject(const Fields& fields, const std::string& node, const Origin& origin) {
  const auto bdf = field(fields, "bdf");
  const auto device = first_of({bdf.empty() ? bdf : canonical_pci(bdf), field(fields, "dev")});
  if (node.empty()) return attempt_or_node(node, origin);
  return device.empty() ? Subject::of_node(node) : Subject::of_nic(node, device);
}

Subject link_subject(const Fields& fields, const std::string& node, const Origin& origin) {
  const auto bdf = field(fields, "bdf");
  const auto link = field(fields, "link");
  const auto port = field(fields, "port");
  if (node.empty()) return attempt_or_node(node, origin);
  if (!bdf.empty())
    return Subject::of_link(node, canonical_pci(bdf) + (link.empty() ? "" : "/" + link));
  const auto device = first_of({field(fields, "dev"), link});
  if (device.empty()) return Subject::of_node(node);
  return Subject::of_link(node, device + (port.empty() ? "" : ":" + port));
}

Subject switch_subject(const Fields& fields, const std::string& node, const Origin& origin) {
  const auto name = first_of({field(fields, "dev"), field(fields, "switch")});
  if (origin.source != EventSource::kernel_log && !name.empty()) return Subject::of_switch(name);
  return node.empty() ? attempt_or_node(node, origin) : Subject::of_node(node);
}

Subject storage_subject(const Fields& fields, const std::string& node, const Origin& origin) {
  const auto target = first_of({field(fields, "server"), field(fields, "target")});
  if (!target.empty()) return Subject::of_storage(target);
  return node.empty() ? attempt_or_node(node, origin) : Subject::of_node(node);
}

Subject job_subject(const Fields& fields, const std::string& node, const Origin& origin) {
  // What a job writes is about itself, whatever number stands in it.
  if (origin.source == EventSource::job_log && origin.attempt)
    return Subject::of_job(origin.attempt->job);
  const auto job = field(fields, "jobid");
  if (valid_job_id(job)) return Subject::of_job(job);
  if (origin.source == EventSource::job_log) return Subject::of_job(attempt_of(origin).job);
  return node.empty() ? Subject::of_cluster() : Subject::of_node(node);
}

std::vector<Subject> node_subjects(const Fields& fields, const LinePrefix& prefix,
                                   const Origin& origin) {
  std::vector<Subject> subjects;
  for (auto& node : told_nodes(fields, prefix, origin))
    subjects.push_back(Subject::of_node(std::move(node)));
  if (subjects.empty()) subjects.push_back(attempt_or_node({}, origin));
  return subjects;
}

}  // namespace

std::string host_of_kernel_line(const LinePrefix& prefix) {
  return prefix.host.starts_with("localhost") ? std::string() : valid_node_or_none(prefix.host);
}

std::int32_t rank_of(const Fields& fields, const LinePrefix& prefix, const Origin& origin) {
  for (const std::string_view name : {"rank", "tasks"}) {
    const auto told = parse_number<std::int32_t>(field(fields, name));
    if (told && *told >= 0 && *told <= rank_max) return *told;
    // "tasks 0-7": which of them is not said, and the log's own rank is srun's.
    if (name == "tasks" && fields.contains(name)) return -1;
  }
  return prefix.rank >= 0 ? prefix.rank : origin.rank;
}

std::vector<Subject> subjects_of(const Signature& signature, const Fields& fields,
                                 const LinePrefix& prefix, const Origin& origin) {
  const auto node = own_node(fields, prefix, origin);
  const auto rank = rank_of(fields, prefix, origin);
  switch (signature.subject) {
    case SubjectKind::node: return node_subjects(fields, prefix, origin);
    case SubjectKind::gpu: return {gpu_subject(fields, node, rank, origin)};
    case SubjectKind::nic: return {nic_subject(fields, node, origin)};
    case SubjectKind::link: return {link_subject(fields, node, origin)};
    case SubjectKind::network_switch: return {switch_subject(fields, node, origin)};
    case SubjectKind::storage: return {storage_subject(fields, node, origin)};
    case SubjectKind::job: return {job_subject(fields, node, origin)};
    case SubjectKind::rank: return {rank_subject(node, rank, origin)};
    case SubjectKind::cluster:
    case SubjectKind::rack:
    case SubjectKind::attempt:
    case SubjectKind::communicator:
    case SubjectKind::data_parallel_group: break;  // the loader refuses them
  }
  return {attempt_or_node(node, origin)};
}

Subject subject_of_log(const Origin& origin) {
  if (!origin.node.empty()) return Subject::of_node(origin.node);
  return origin.attempt ? Subject::of_attempt(*origin.attempt) : Subject::of_cluster();
}

}  // namespace faultline
