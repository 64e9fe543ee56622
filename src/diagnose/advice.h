// What a person is told to do about a verdict: in words, and as commands that can be pasted.
#pragma once

#include <string>
#include <vector>

#include "model/cause.h"
#include "model/verdict.h"

namespace faultline {

struct Advice {
  bool evict = false;  // take the node out of service
  std::string action;
  std::vector<std::string> commands;
};

enum class GpuMaker { nvidia, amd };

/// Who takes a node out of service.
enum class NodeManager { slurm, kubernetes };

struct Circumstances {
  NodeManager manager = NodeManager::slurm;
  /// The node was booted anew after what the verdict is about.
  bool rebooted = false;
  /// Where the program was when it failed: "train.py:70 in main"; "" if nothing says.
  std::string frame = {};
  GpuMaker gpu_maker = GpuMaker::nvidia;
};

Advice advise(const Verdict& verdict, const Cause& cause, const Circumstances& circumstances);

}  // namespace faultline
