// Whatever happens to the newest checkpoint on disk, training resumes from an older whole one, and
// says why.

#include "checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace train_lm {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// Another bit for each byte, so that all eight positions have their turn.
std::string with_flipped_bit(std::string bytes, std::size_t byte) {
  bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << (byte % 8)));
  return bytes;
}

TrainingState state_at(std::uint64_t step) {
  TrainingState state(std::vector<float>{0.5F, -1.25F, 3.0F, 1e-7F, 2.5F});
  state.step = step;
  for (float& p : state.parameters) p += static_cast<float>(step);
  state.first_moment = {1, 2, 3, 4, 5};
  state.second_moment = {6, 7, 8, 9, 10};
  return state;
}

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("train_lm_checkpoint_test." + std::to_string(::getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void save(std::uint64_t step, int world_size = 3) {
    const TrainingState state = state_at(step);
    prepare_checkpoint(root_, step);
    std::vector<Shard> shards;
    for (int rank = 0; rank < world_size; ++rank) {
      shards.push_back(write_shard(root_, state, rank, world_size));
    }
    publish_checkpoint(root_, state, shards);
  }

  std::optional<TrainingState> load() {
    rejections_.clear();
    return load_newest_valid(root_, [this](std::string_view name, std::string_view reason) {
      rejections_.emplace_back(name, reason);
    });
  }

  // With checkpoints 20 and 40 there, and 40 damaged.
  void expect_falls_back(const std::string& damage) {
    const auto state = load();
    ASSERT_TRUE(state) << damage;
    EXPECT_EQ(state->step, 20U) << damage;
    ASSERT_EQ(rejections_.size(), 1U) << damage;
    EXPECT_EQ(rejections_[0].first, "step-00000040") << damage;
    EXPECT_FALSE(rejections_[0].second.empty()) << damage;
  }

  std::vector<fs::path> files_of(const std::string& name) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(root_ / name)) files.push_back(entry.path());
    return files;
  }

  fs::path root_;
  std::vector<std::pair<std::string, std::string>> rejections_;
};

TEST_F(CheckpointTest, NothingThereIsNoError) {
  EXPECT_FALSE(load());
  EXPECT_TRUE(rejections_.empty());
}

TEST_F(CheckpointTest, ComesBackWholeForAnyWorldSize) {
  for (const int world_size : {1, 2, 3, 4, 7, 20}) {
    save(40, world_size);
    const auto state = load();
    ASSERT_TRUE(state) << world_size;
    const TrainingState expected = state_at(40);
    EXPECT_EQ(state->step, 40U);
    EXPECT_EQ(state->parameters, expected.parameters);
    EXPECT_EQ(state->first_moment, expected.first_moment);
    EXPECT_EQ(state->second_moment, expected.second_moment);
    EXPECT_TRUE(rejections_.empty());
  }
}

TEST_F(CheckpointTest, FallsBackWhenAnyFileIsCutAtAnyByte) {
  save(20);
  save(40);
  for (const fs::path& file : files_of("step-00000040")) {
    const std::string whole = read(file);
    // A manifest without its final newline is still whole.
    const std::size_t end = whole.size() - (file.extension() == ".json" ? 1 : 0);
    for (std::size_t size = 0; size < end; ++size) {
      write(file, whole.substr(0, size));
      expect_falls_back(file.filename().string() + " cut to " + std::to_string(size));
    }
    write(file, whole);
  }
  EXPECT_EQ(load()->step, 40U);
}

TEST_F(CheckpointTest, FallsBackWhenABitOfAnyShardByteIsFlipped) {
  save(20);
  save(40);
  for (const fs::path& file : files_of("step-00000040")) {
    if (file.extension() == ".json") continue;
    const std::string whole = read(file);
    for (std::size_t byte = 0; byte < whole.size(); ++byte) {
      write(file, with_flipped_bit(whole, byte));
      expect_falls_back(file.filename().string() + " byte " + std::to_string(byte));
    }
    write(file, whole);
  }
}

// A flipped bit between two keys can leave the same document; then nothing is lost. What must never
// happen is that another state is loaded, or that the program fails.
TEST_F(CheckpointTest, AFlippedBitInTheManifestNeverChangesTheState) {
  save(20);
  save(40);
  const fs::path file = root_ / "step-00000040" / "manifest.json";
  const std::string whole = read(file);
  std::size_t rejected = 0;
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    write(file, with_flipped_bit(whole, byte));
    const auto state = load();
    ASSERT_TRUE(state) << byte;
    EXPECT_EQ(state->parameters, state_at(state->step).parameters) << byte;
    rejected += rejections_.size();
  }
  EXPECT_GT(rejected, whole.size() / 2);
}

TEST_F(CheckpointTest, FallsBackWhenAFileIsMissing) {
  save(20);
  save(40);
  for (const fs::path& file : files_of("step-00000040")) {
    const std::string whole = read(file);
    fs::remove(file);
    expect_falls_back(file.filename().string() + " missing");
    EXPECT_EQ(rejections_[0].second, "no " + file.filename().string());
    write(file, whole);
  }
}

TEST_F(CheckpointTest, AManifestOfAnotherStepIsRefused) {
  save(20);
  save(40);
  fs::remove_all(root_ / "step-00000040");
  fs::copy(root_ / "step-00000020", root_ / "step-00000040");
  expect_falls_back("a copy of step 20");
}

TEST_F(CheckpointTest, AnUnfinishedOneIsNamedAndPassedOver) {
  save(20);
  prepare_checkpoint(root_, 40);
  write_shard(root_, state_at(40), 0, 2);
  const auto state = load();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->step, 20U);
  ASSERT_EQ(rejections_.size(), 1U);
  EXPECT_EQ(rejections_[0].second, "it was never finished");
}

TEST_F(CheckpointTest, ADamagedOneIsReplacedBySavingTheStepAgain) {
  save(20);
  save(40);
  fs::remove(root_ / "step-00000040" / "manifest.json");
  save(40);
  EXPECT_EQ(load()->step, 40U);
  EXPECT_TRUE(rejections_.empty());
}

TEST_F(CheckpointTest, KeepsTheNewest) {
  for (const std::uint64_t step : {5, 10, 15, 100}) save(step);
  prepare_checkpoint(root_, 3);  // left by a run that died
  prune_checkpoints(root_, 3);
  EXPECT_FALSE(fs::exists(root_ / "step-00000005"));
  EXPECT_TRUE(fs::exists(root_ / "step-00000010"));
  EXPECT_EQ(load()->step, 100U);
  EXPECT_TRUE(rejections_.empty());
}

}  // namespace
}  // namespace train_lm
