// `faultline ring FILE...`: what black boxes say, for a person or as JSON. Reads only.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "adapters/rings/writer_life.h"
#include "ingest/ring_snapshot.h"

namespace faultline {

struct RingOptions {
  std::vector<std::string> paths;
  bool json = false;
  bool all = false;
};

void add_ring_command(CLI::App& app, RingOptions& options);
/// exit_ok; exit_not_found or exit_failed if any of what was named cannot be read.
int ring_main(const RingOptions& options);

/// A black box, what became of its writer, and the moment to which "for so long" counts: now where
/// that is running or stopped, else its last sign of life.
struct RingView {
  std::string path;
  RingSnapshot ring;
  WriterLife life = WriterLife::elsewhere;
  RingTime until;
};

/// `all`: also what is complete of each communicator but its last, and peers without a wait.
std::string ring_text(const RingView& view, bool all);
nlohmann::json ring_json(const RingView& view);

}  // namespace faultline
