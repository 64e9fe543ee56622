// Synchronous data-parallel training: every rank holds the whole model, computes the gradient of
// its part of the batch, and an all-reduce sums them. One slow, hung or dead rank holds up all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "corpus.h"
#include "fault.h"
#include "model.h"
#include "optimizer.h"

namespace train_lm {

struct Options {
  std::uint64_t steps = 100;
  std::uint64_t seed = 1;
  /// Of all ranks together, so that a run with fewer ranks learns from the same samples.
  int global_batch = 128;
  double learning_rate = 3e-3;
  /// A step takes at least this long: small models, realistic rhythm.
  int step_ms_min = 0;
  std::filesystem::path checkpoint_dir = "checkpoints";
  std::uint64_t checkpoint_every = 20;
  std::size_t checkpoints_kept = 3;
  std::filesystem::path fault_file;
};

/// MPI must be initialised; it is used by one thread.
class Trainer {
 public:
  Trainer(const Options& options, std::string host);

  /// Resumes from the newest valid checkpoint and trains to the last step.
  void run();

 private:
  void resume();
  void broadcast_state();
  void step();
  double sum_gradient();  // the mean loss; the mean gradient is in gradient_
  void inject_fault(double& loss);
  void save();
  void require_equal_replicas() const;

  Options options_;
  std::string host_;
  int rank_ = 0;
  int world_size_ = 1;
  Corpus corpus_;
  ModelShape shape_;
  Model model_;
  TrainingState state_;
  std::vector<float> gradient_;
  bool bit_flipped_ = false;
};

}  // namespace train_lm
