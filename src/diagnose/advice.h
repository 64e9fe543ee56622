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

Advice advise(const Verdict& verdict, const Cause& cause);

}  // namespace faultline
