#include "model/subject.h"

#include "base/text.h"
#include "model/names.h"

namespace faultline {

std::string AttemptId::text() const { return job + "#" + std::to_string(restart); }

std::optional<AttemptId> AttemptId::parse(std::string_view text) {
  const auto hash = text.rfind('#');
  if (hash == std::string_view::npos) return std::nullopt;
  const auto restart = parse_number<std::uint32_t>(text.substr(hash + 1));
  const auto job = text.substr(0, hash);
  if (!restart || !valid_job_id(job)) return std::nullopt;
  return AttemptId{std::string(job), *restart};
}

Subject Subject::of_gpu(std::string node, std::string_view pci_address) {
  return {SubjectKind::gpu, std::move(node), canonical_pci(pci_address), {}, -1};
}

Subject Subject::of_nic(std::string node, std::string device) {
  return {SubjectKind::nic, std::move(node), std::move(device), {}, -1};
}

Subject Subject::of_link(std::string node, std::string device) {
  return {SubjectKind::link, std::move(node), std::move(device), {}, -1};
}

Subject Subject::of_rank(AttemptId attempt, std::int32_t rank, std::string node) {
  return {SubjectKind::rank, std::move(node), {}, std::move(attempt), rank};
}

std::string Subject::text() const {
  const std::string word(to_text(kind));
  switch (kind) {
    case SubjectKind::cluster: return word;
    case SubjectKind::node: return word + ":" + node;
    case SubjectKind::gpu:
    case SubjectKind::nic:
    case SubjectKind::link: return word + ":" + node + "/" + part;
    case SubjectKind::rack:
    case SubjectKind::network_switch:
    case SubjectKind::storage: return word + ":" + part;
    case SubjectKind::job: return word + ":" + attempt.job;
    case SubjectKind::attempt: return word + ":" + attempt.text();
    case SubjectKind::rank:
      return word + ":" + attempt.text() + "/" + std::to_string(rank) +
             (node.empty() ? "" : "@" + node);
    case SubjectKind::communicator:
    case SubjectKind::data_parallel_group: return word + ":" + attempt.text() + "/" + part;
  }
  return word;
}

namespace {

std::optional<Subject> parse_part_of_node(SubjectKind kind, std::string_view rest) {
  const auto slash = rest.find('/');
  if (slash == std::string_view::npos || !valid_node_name(rest.substr(0, slash)))
    return std::nullopt;
  return Subject{
      kind, std::string(rest.substr(0, slash)), std::string(rest.substr(slash + 1)), {}, -1};
}

std::optional<Subject> parse_part_of_attempt(SubjectKind kind, std::string_view rest) {
  const auto slash = rest.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto attempt = AttemptId::parse(rest.substr(0, slash));
  if (!attempt) return std::nullopt;
  std::string_view tail = rest.substr(slash + 1);
  if (kind != SubjectKind::rank) return Subject{kind, {}, std::string(tail), *attempt, -1};
  std::string_view node;
  if (const auto at = tail.find('@'); at != std::string_view::npos) {
    node = tail.substr(at + 1);
    tail = tail.substr(0, at);
    if (!valid_node_name(node)) return std::nullopt;
  }
  const auto rank = parse_number<std::int32_t>(tail);
  if (!rank) return std::nullopt;
  return Subject::of_rank(*attempt, *rank, std::string(node));
}

}  // namespace

std::optional<Subject> Subject::parse(std::string_view text) {
  const auto colon = text.find(':');
  const auto kind = parse_enum<SubjectKind>(text.substr(0, colon));
  if (!kind) return std::nullopt;
  const auto rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  switch (*kind) {
    case SubjectKind::cluster: return rest.empty() ? std::optional(Subject{}) : std::nullopt;
    case SubjectKind::node:
      return valid_node_name(rest) ? std::optional(of_node(std::string(rest))) : std::nullopt;
    case SubjectKind::gpu:
    case SubjectKind::nic:
    case SubjectKind::link: return parse_part_of_node(*kind, rest);
    case SubjectKind::rack:
    case SubjectKind::network_switch:
    case SubjectKind::storage: return Subject{*kind, {}, std::string(rest), {}, -1};
    case SubjectKind::job:
      return valid_job_id(rest) ? std::optional(of_job(std::string(rest))) : std::nullopt;
    case SubjectKind::attempt: {
      const auto attempt = AttemptId::parse(rest);
      return attempt ? std::optional(of_attempt(*attempt)) : std::nullopt;
    }
    case SubjectKind::rank:
    case SubjectKind::communicator:
    case SubjectKind::data_parallel_group: return parse_part_of_attempt(*kind, rest);
  }
  return std::nullopt;
}

bool concerns_node(const Subject& subject) {
  return subject.kind == SubjectKind::node || subject.kind == SubjectKind::gpu ||
         subject.kind == SubjectKind::nic || subject.kind == SubjectKind::link;
}

}  // namespace faultline
