// train_lm: a small language model trained by several processes, as a workload that can be watched,
// broken and restarted. `launch.sh` starts it by hand; the ranks' hosts may be faked.

#include <mpi.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "trainer.h"

#ifdef __SANITIZE_ADDRESS__
// MPI keeps memory to the end of the process, which is not our leak to report.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace {

// Under Slurm several "nodes" can be one machine; by hand, FAULTLINE_NODE names one.
std::string node_name() {
  for (const char* variable : {"SLURMD_NODENAME", "FAULTLINE_NODE"}) {
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') return value;
  }
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

void add_options(CLI::App& app, train_lm::Options& options) {
  app.add_option("--steps", options.steps, "Train up to this step");
  app.add_option("--seed", options.seed, "Of the corpus, the parameters and the batches");
  app.add_option("--global-batch", options.global_batch, "Samples a step, of all ranks together")
      ->check(CLI::PositiveNumber);
  app.add_option("--learning-rate", options.learning_rate);
  app.add_option("--step-ms-min", options.step_ms_min, "A step takes at least this long");
  app.add_option("--checkpoint-dir", options.checkpoint_dir, "Resumes from here; saves here");
  app.add_option("--checkpoint-every", options.checkpoint_every, "In steps")
      ->check(CLI::PositiveNumber);
  app.add_option("--checkpoints-kept", options.checkpoints_kept)->check(CLI::PositiveNumber);
  app.add_option(
      "--fault-file", options.fault_file,
      "Read before each all-reduce: 'HOST ecc|launch|oom|assert|exception|hang|sigkill|nan|"
      "bitflip|slow [step=N] [ms=N]'; host * is every host");
  app.option_defaults()->always_capture_default();
}

}  // namespace

int main(int argc, char** argv) {
  train_lm::Options options;
  CLI::App app("Trains a small language model, one replica in each MPI rank.");
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);

  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  MPI_Init(&argc, &argv);
  try {
    train_lm::Trainer(options, node_name()).run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "train_lm: %s\n", e.what());
    std::fflush(nullptr);
    // No MPI_Abort, which would speak of "abort" where a Python program just ends with status 1.
    std::_Exit(1);
  }
  MPI_Finalize();
  return 0;
}
