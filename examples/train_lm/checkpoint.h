// Checkpoints that can be trusted after any cut.
//
//   ROOT/step-00000040/shard-0-of-4.bin ...   each rank writes its slice of the state
//   ROOT/step-00000040/manifest.json          what the shards must be; written last
//
// All is written into a folder with a temporary name, flushed to disk, and renamed: whatever has
// the final name was complete once. Later damage is found by checksums, and an older checkpoint is
// taken instead. A shard count is not a rank count: any number of ranks can read any checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "optimizer.h"

namespace train_lm {

struct Shard {
  std::string name;  // of the file, in the checkpoint's folder
  std::uint64_t size = 0;
  std::string sha256;
};

/// Saving is three calls: one process prepares, every rank writes its shard, one process publishes.
/// They throw std::runtime_error when the disk does not do its part.
void prepare_checkpoint(const std::filesystem::path& root, std::uint64_t step);
Shard write_shard(const std::filesystem::path& root, const TrainingState& state, int rank,
                  int world_size);
void publish_checkpoint(const std::filesystem::path& root, const TrainingState& state,
                        const std::vector<Shard>& shards);

/// Removes all but the newest `keep` checkpoints, and what earlier runs left unfinished. Call it
/// when no checkpoint is being written.
void prune_checkpoints(const std::filesystem::path& root, std::size_t keep);

/// Told of each checkpoint that was passed over, newest first.
using RejectionSink = std::function<void(std::string_view name, std::string_view reason)>;

/// The newest checkpoint whose every byte is what its manifest says; nothing when there is none.
std::optional<TrainingState> load_newest_valid(const std::filesystem::path& root,
                                               const RejectionSink& rejected);

}  // namespace train_lm
