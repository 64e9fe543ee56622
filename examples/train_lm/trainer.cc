#include "trainer.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>

#include "checkpoint.h"

namespace train_lm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCorpusLength = 1 << 16;

// Fixed-size, so that a gather can carry it.
struct ShardRecord {
  char name[64];
  std::uint64_t size;
  char sha256[65];
};

ShardRecord pack(const Shard& shard) {
  ShardRecord record{};
  std::snprintf(record.name, sizeof record.name, "%s", shard.name.c_str());
  record.size = shard.size;
  std::snprintf(record.sha256, sizeof record.sha256, "%s", shard.sha256.c_str());
  return record;
}

ModelShape shape_for(const Corpus& corpus) {
  ModelShape shape;
  shape.vocabulary = corpus.vocabulary();
  return shape;
}

void broadcast(std::vector<float>& values) {
  MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_FLOAT, 0, MPI_COMM_WORLD);
}

void flip_bit(float& value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits ^= 1U << 12;
  std::memcpy(&value, &bits, sizeof bits);
}

}  // namespace

Trainer::Trainer(const Options& options, std::string host)
    : options_(options),
      host_(std::move(host)),
      corpus_(options.seed, kCorpusLength),
      shape_(shape_for(corpus_)),
      model_(shape_),
      state_(initial_parameters(shape_, options.seed)),
      gradient_(state_.parameters.size()) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size_);
}

void Trainer::run() {
  resume();
  bool saved = true;
  while (state_.step < options_.steps) {
    step();
    saved = state_.step % options_.checkpoint_every == 0;
    if (saved) save();
  }
  if (!saved) save();
  if (rank_ == 0) std::printf("done step %llu\n", static_cast<unsigned long long>(state_.step));
}

void Trainer::resume() {
  if (rank_ == 0) {
    const auto found = load_newest_valid(
        options_.checkpoint_dir, [](std::string_view name, std::string_view reason) {
          std::printf("checkpoint %.*s rejected: %.*s\n", static_cast<int>(name.size()),
                      name.data(), static_cast<int>(reason.size()), reason.data());
        });
    if (found && found->parameters.size() != state_.parameters.size()) {
      throw std::runtime_error("the checkpoints are of a model of another size");
    }
    if (found) state_ = *found;
    std::printf("train_lm world_size %d parameters %zu\n", world_size_, state_.parameters.size());
    std::printf("resumed from step %llu\n", static_cast<unsigned long long>(state_.step));
  }
  broadcast_state();
}

// One reader and a broadcast: all ranks surely start from the same state.
void Trainer::broadcast_state() {
  MPI_Bcast(&state_.step, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  broadcast(state_.parameters);
  broadcast(state_.first_moment);
  broadcast(state_.second_moment);
}

double Trainer::sum_gradient() {
  std::fill(gradient_.begin(), gradient_.end(), 0.0F);
  double loss = 0;
  for (int i = rank_; i < options_.global_batch; i += world_size_) {
    loss += model_.add_gradient(state_.parameters, corpus_.sample(state_.step, i, shape_.context),
                                gradient_);
  }
  inject_fault(loss);
  MPI_Allreduce(MPI_IN_PLACE, gradient_.data(), static_cast<int>(gradient_.size()), MPI_FLOAT,
                MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const auto scale = 1.0F / static_cast<float>(options_.global_batch);
  for (float& g : gradient_) g *= scale;
  return loss / options_.global_batch;
}

void Trainer::inject_fault(double& loss) {
  const auto fault = read_fault(options_.fault_file, host_, state_.step + 1);
  if (!fault) return;
  switch (fault->kind) {
    case FaultKind::kSlow:
      std::this_thread::sleep_for(std::chrono::milliseconds(fault->slow_ms));
      return;
    case FaultKind::kNan:
      loss = std::numeric_limits<double>::quiet_NaN();
      gradient_[0] = std::numeric_limits<float>::quiet_NaN();
      return;
    case FaultKind::kBitflip:
      // In the parameters of this replica alone: nothing fails, the ranks just drift apart. Once,
      // as a second flip would take back the first.
      if (!bit_flipped_) flip_bit(state_.parameters[0]);
      bit_flipped_ = true;
      return;
    case FaultKind::kEcc:
    case FaultKind::kLaunch:
    case FaultKind::kOutOfMemory:
    case FaultKind::kAssert:
    case FaultKind::kException:
    case FaultKind::kHang:
    case FaultKind::kSigkill: die_of(fault->kind);
  }
}

void Trainer::step() {
  const auto begin = Clock::now();
  const double loss = sum_gradient();
  const double gradient_norm = norm(gradient_);
  adam_step(state_, gradient_, options_.learning_rate);
  std::this_thread::sleep_until(begin + std::chrono::milliseconds(options_.step_ms_min));
  const std::chrono::duration<double, std::milli> time = Clock::now() - begin;
  if (rank_ == 0) {
    std::printf("step %llu loss %.6f grad_norm %.6f time_ms %.1f digest %s\n",
                static_cast<unsigned long long>(state_.step), loss, gradient_norm, time.count(),
                parameter_digest(state_).c_str());
  }
  // The sum is the same everywhere, so all ranks see this and no checkpoint is made of it.
  if (!std::isfinite(loss) || !std::isfinite(gradient_norm)) {
    throw std::runtime_error("loss is nan at step " + std::to_string(state_.step) +
                             ", stopping training");
  }
}

void Trainer::require_equal_replicas() const {
  const std::uint64_t mine = std::strtoull(parameter_digest(state_).c_str(), nullptr, 16);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(world_size_));
  MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  if (std::adjacent_find(all.begin(), all.end(), std::not_equal_to<>()) == all.end()) return;
  std::string message = "replicas differ at step " + std::to_string(state_.step) + ":";
  for (std::size_t r = 0; r < all.size(); ++r) {
    char text[64];
    std::snprintf(text, sizeof text, " rank %zu %016llx", r,
                  static_cast<unsigned long long>(all[r]));
    message += text;
  }
  throw std::runtime_error(message);
}

void Trainer::save() {
  require_equal_replicas();  // never keep a state on which the ranks do not agree
  const auto& root = options_.checkpoint_dir;
  if (rank_ == 0) prepare_checkpoint(root, state_.step);
  MPI_Barrier(MPI_COMM_WORLD);
  const ShardRecord mine = pack(write_shard(root, state_, rank_, world_size_));
  std::vector<ShardRecord> records(static_cast<std::size_t>(world_size_));
  MPI_Gather(&mine, sizeof mine, MPI_BYTE, records.data(), sizeof mine, MPI_BYTE, 0,
             MPI_COMM_WORLD);
  if (rank_ != 0) return;
  std::vector<Shard> shards;
  for (const ShardRecord& r : records) shards.push_back({r.name, r.size, r.sha256});
  publish_checkpoint(root, state_, shards);
  prune_checkpoints(root, options_.checkpoints_kept);
  std::printf("checkpoint saved step %llu\n", static_cast<unsigned long long>(state_.step));
}

}  // namespace train_lm
