#include "adapters/slurm/slurm_queries.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/contains.h"
#include "base/text.h"

namespace faultline {

Result<std::vector<SlurmJob>> read_jobs_as_text(const SlurmCommand& command, const std::string& job,
                                                std::size_t* left_out) {
  const auto ask = [&](std::string_view option, std::string_view format) {
    std::vector<std::string> argv{"squeue", "--noheader", "--states=all"};
    if (!job.empty()) argv.push_back("--jobs=" + base_job(job));
    argv.push_back(std::string(option) + std::string(format));
    return command.run(std::move(argv));
  };
  const auto lines = ask("--format=", job_text_format);
  if (!lines && lines.error().code == ErrorCode::not_found) return std::vector<SlurmJob>{};
  if (!lines) return lines.error();
  const auto columns = ask("--Format=", job_text_columns);
  if (!columns && columns.error().code == ErrorCode::not_found) return std::vector<SlurmJob>{};
  if (!columns) return columns.error();
  return parse_jobs_text(*lines, *columns, left_out);
}

Result<std::optional<SlurmNode>> read_node_as_text(const SlurmCommand& command,
                                                   const std::string& node) {
  const auto text = command.run({"scontrol", "-o", "show", "node", node});
  if (!text) {
    // scontrol's "Node n99 not found" ends with 1 as well.
    const bool absent = text.error().code == ErrorCode::not_found ||
                        text.error().message.find("not found") != std::string::npos;
    if (absent) return std::optional<SlurmNode>{};
    return text.error();
  }
  auto nodes = parse_nodes_text(*text);
  if (!nodes) return std::optional<SlurmNode>{};
  auto& all = nodes.value();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.node.name == node; });
  if (found == all.end()) return std::optional<SlurmNode>{};
  const auto reservations = command.run({"scontrol", "-o", "show", "reservation"});
  if (!reservations) return reservations.error();
  for (const auto& reservation : parse_reservations(*reservations)) {
    const bool holds = contains(reservation.nodes, node);
    if (reservation.active && reservation.maintenance && holds) found->node.maintenance = true;
  }
  return std::optional<SlurmNode>{*found};
}

Result<SlurmPool> read_pool(const SlurmCommand& command) {
  const auto nodes = command.run({"scontrol", "-o", "show", "node"});
  if (!nodes) return nodes.error();
  const auto reservations = command.run({"scontrol", "-o", "show", "reservation"});
  if (!reservations) return reservations.error();
  auto parsed = parse_nodes_text(*nodes);
  if (!parsed) return parsed.error();
  const auto topology =
      command.run({"scontrol", "-o", "show", "topology"});  // many sites have none
  return SlurmPool{std::move(parsed).value(), parse_reservations(*reservations),
                   topology ? parse_topology(*topology) : std::map<std::string, std::string>{}};
}

bool slurm_job_id(std::string_view job) {
  const auto separator = job.find_first_of("_+");
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.size() <= 10 &&
           part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return separator == std::string_view::npos
             ? digits(job)
             : digits(job.substr(0, separator)) && digits(job.substr(separator + 1));
}

std::string base_job(std::string_view job) {
  return std::string(job.substr(0, job.find_first_of("_+")));
}

}  // namespace faultline
