// What the log of a healthy training job looks like.
#pragma once

#include <string>

#include "base/rng.h"

namespace faultline {

inline std::string usual_job_line(Rng& rng) {
  switch (rng.below(5)) {
    case 0:
      return "[rank" + std::to_string(rng.below(512)) + "]: iteration " +
             std::to_string(rng.below(300'000)) +
             "/ 311541 | consumed samples: 26709904 | elapsed time per iteration (ms): 25593.4 | "
             "lm loss: 2.645663E+00 |";
    case 1:
      return "Epoch 0:   6%|6         | 32040/500150 [6:28:43<94:39:17,  1.37it/s, loss=2.6, "
             "v_num=0]";
    case 2:
      return "2026-03-01T11:59:00.123456Z n3 rank3 | step 1200 loss 2.31 gnorm 0.98 step_time "
             "0.412";
    case 3:
      return "n3:1984:2357 [" + std::to_string(rng.below(8)) +
             "] NCCL INFO Channel 07/0 : 3[3] -> 4[4] via P2P/CUMEM/read";
    default: return "  File \"/opt/train/model.py\", line 35, in forward";
  }
}

}  // namespace faultline
