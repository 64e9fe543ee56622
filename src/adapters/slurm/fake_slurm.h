// A Slurm of a few jobs and nodes behind the command line, for tests: it can be away, slow, or
// seized by an operator at any command.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "adapters/slurm/slurm_command.h"
#include "base/clock.h"
#include "base/text.h"

namespace faultline {

class FakeSlurm {
 public:
  struct Job {
    std::string number, shown, array = "", tasks = "N/A", het = "N/A", offset = "N/A";
    std::string state = "RUNNING", excluded = "", nodes = "", reason = "None", comment = "";
    int restart = 0, completing_looks = 0;
    bool batch = true, requeue = true;
    long priority = 100;
    bool delayed = false;  // BeginTime ahead
    std::string required = "";
  };
  struct Node {
    std::string state = "IDLE", reason = "", owner = "root";
  };

  std::map<std::string, Job> jobs;  // by number
  std::map<std::string, Node> nodes;
  std::string reservations = "No reservations in the system\n";
  std::vector<std::string> log;  // every command that changes something
  int commands = 0;
  /// Called with the number of the command before and after it is carried out; may throw, or return
  /// an error.
  std::function<std::optional<Error>(int)> before, after;
  std::string next_nodes = "n[5-6]";  // where a started job is put that asks for none by name
  std::string unfit;                  // a node that has not what a job needs

  CommandRunner runner() {
    return [this](const std::vector<std::string>& argv, Duration,
                  const std::vector<std::string>&) -> Result<ProcessResult> {
      const int number = ++commands;
      if (before) {
        if (auto error = before(number)) return *error;
      }
      ProcessResult result = carry_out(argv);
      if (after) {
        if (auto error = after(number)) return *error;
      }
      return result;
    };
  }

 private:
  static ProcessResult answer(std::string out) { return {0, std::move(out), "", false, false}; }
  static ProcessResult refusal(std::string text) { return {1, "", std::move(text), false, false}; }
  static std::string column(std::string text, std::size_t width) {
    text.resize(width, ' ');
    return text;
  }
  static std::optional<std::string> given(const std::vector<std::string>& argv,
                                          const std::string& key) {
    for (const auto& argument : argv) {
      if (argument.starts_with(key + "=")) return argument.substr(key.size() + 1);
    }
    return {};
  }
  static std::string value(const std::vector<std::string>& argv, const std::string& key) {
    return given(argv, key).value_or("");
  }
  [[nodiscard]] std::string base(const Job& job) const {
    return job.het != "N/A" ? job.het : (job.array.empty() ? job.number : job.array);
  }
  /// The jobs that a target names: a number, "2_1", "2_[2-4]", "4+1"; a het leader's number is its
  /// whole set.
  std::vector<Job*> find(const std::string& target) {
    std::vector<Job*> found;
    for (auto& [number, job] : jobs) {
      const std::string tail = job.array + "_[" + job.tasks.substr(0, job.tasks.find('%')) + "]";
      if (target == number || target == job.shown || target == tail || target == job.het)
        found.push_back(&job);
    }
    return found;
  }

  ProcessResult carry_out(const std::vector<std::string>& argv) {
    if (argv[0] == "squeue") return queue(argv);
    if (argv[0] != "scontrol") return refusal("unknown program " + argv[0]);
    if (argv[1] == "-o" && argv[3] == "node")
      return argv.size() > 4 ? show_node(argv[4]) : show_nodes();
    if (argv[1] == "-o" && argv[3] == "topology") return refusal("no topology");
    if (argv[1] == "-o" && argv[3] == "reservation") return answer(reservations);
    log.push_back(join(argv, " "));
    if (argv[1] == "update" && argv[2].starts_with("nodename=")) return update_node(argv);
    const std::string target = argv[1] == "update" ? value(argv, "jobid") : argv[2];
    const auto found = find(target);
    if (found.empty()) return refusal("Invalid job id specified for job " + target);
    for (auto* job : found) {
      if (const auto text = change(*job, argv); !text.empty())
        return refusal(text + " for job " + target);
    }
    return answer("");
  }

  std::string change(Job& job, const std::vector<std::string>& argv) {
    const bool pending = job.state == "PENDING" || (job.state == "COMPLETING" && job.restart > 0);
    const bool over = job.state == "FAILED" || job.state == "COMPLETED";
    if (argv[1] == "requeuehold") {
      if (pending) return "Job is pending execution";
      if (!job.batch) return "Only batch jobs are accepted or processed";
      if (!job.requeue) return "Requested operation is presently disabled";
      job.state = over || job.completing_looks == 0 ? "PENDING" : "COMPLETING";
      job.reason = "job requeued in held state";
      job.priority = 0;
      job.delayed = !over;
      ++job.restart;
      if (job.state == "PENDING") job.nodes.clear();
      return {};
    }
    if (argv[1] == "release" || argv[1] == "hold") {
      job.priority = argv[1] == "hold" ? 0 : 100;
      if (argv[1] == "hold") {
        job.reason = "JobHeldAdmin";
      } else if (job.state == "COMPLETING" || job.delayed) {
        job.reason = job.state == "COMPLETING" ? "None" : "BeginTime";
      } else if (job.state == "PENDING") {
        start(job);
      }
      return {};
    }
    if (over) return "Job has already finished";
    const auto required = given(argv, "ReqNodeList");
    if (required && !pending) return "Invalid node name specified";
    if (const auto excluded = value(argv, "ExcNodeList"); !excluded.empty()) {
      if (!pending) return "Job is no longer pending execution";
      job.excluded = excluded;
    }
    if (const auto comment = value(argv, "AdminComment"); !comment.empty()) job.comment = comment;
    if (required) job.required = *required;
    const bool now = value(argv, "StartTime") == "now";
    if (now) job.delayed = false;
    // A job that Slurm holds for its list is let go with it.
    if (required && job.reason == "BadConstraints") job.priority = 100;
    const bool may_start = job.state == "PENDING" && job.priority > 0 && !job.delayed;
    if (may_start && (now || required)) start(job);
    return {};
  }
  void start(Job& job) {
    job.reason = why_not_started(job);
    if (job.reason == "BadConstraints") job.priority = 0;
    if (job.reason != "None") return;
    job.state = "RUNNING";
    job.nodes = job.required.empty() ? next_nodes : job.required;
  }
  std::string why_not_started(const Job& job) {
    for (const auto name : split(job.required, ',')) {
      if (name.empty()) continue;
      if (unfit == name) return "BadConstraints";
      if (nodes[std::string(name)].state != "IDLE") return "Resources";
    }
    return "None";
  }

  ProcessResult queue(const std::vector<std::string>& argv) {
    const auto wanted = value(argv, "--jobs");
    const bool lines = !value(argv, "--format").empty();
    std::string out;
    for (auto& [number, job] : jobs) {
      if (!wanted.empty() && base(job) != wanted) continue;
      if (lines && job.state == "COMPLETING" && --job.completing_looks <= 0) {
        job.state = "PENDING";
        job.delayed = true;  // the requeue's begin time, set when its nodes have completed
        if (job.priority > 0) job.reason = "BeginTime";
        job.nodes.clear();
      }
      out += lines ? line(job) : columns(job);
    }
    return out.empty() ? refusal("slurm_load_jobs error: Invalid job id specified") : answer(out);
  }
  static std::string line(const Job& job) {
    const auto array = job.array.empty() ? job.number : job.array;
    return join(std::vector<std::string>{job.number, job.shown, job.state, array, job.tasks, "0",
                                         job.excluded, job.nodes, "1795988549", "NONE", "4",
                                         "train", job.required, job.reason},
                "|") +
           "\n";
  }
  static std::string columns(const Job& job) {
    return column(job.number, 16) + column(std::to_string(job.restart), 8) +
           column(job.batch ? (job.restart > 0 ? "2" : "1") : "0", 4) +
           column(job.requeue ? "1" : "0", 4) + column(job.het, 16) + column(job.offset, 8) +
           column(std::to_string(job.priority), 24) + column("0", 8) +
           column(job.delayed ? "1795988549" : "N/A", 24) +
           column(job.comment.empty() ? "(null)" : job.comment, 256) + "\n";
  }

  ProcessResult show_nodes() {
    std::string text;
    for (const auto& [name, node] : nodes) text += show_node(name).out;
    return answer(text);
  }
  ProcessResult show_node(const std::string& name) {
    const auto found = nodes.find(name);
    if (found == nodes.end()) return {1, "Node " + name + " not found\n", "", false, false};
    std::string text = "NodeName=" + name + " State=" + found->second.state +
                       " Partitions=train BootTime=1795987075";
    if (!found->second.reason.empty())
      text += " Reason=" + found->second.reason + " [" + found->second.owner + "@1795988052]";
    return answer(text + "\n");
  }
  ProcessResult update_node(const std::vector<std::string>& argv) {
    const auto found = nodes.find(value(argv, "nodename"));
    if (found == nodes.end()) return refusal("slurm_update error: Invalid node name specified");
    const bool drain = value(argv, "state") == "drain";
    found->second.state = drain ? "IDLE+DRAIN" : "IDLE";
    found->second.reason = drain ? value(argv, "reason") : "";
    return answer("");
  }
};

}  // namespace faultline
