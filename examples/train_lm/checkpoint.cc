#include "checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <utility>

#include "sha256.h"

namespace train_lm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kFormat = "train_lm checkpoint 1";
constexpr std::string_view kUnfinished = ".unfinished-";
constexpr const char* kManifest = "manifest.json";

std::string folder_name(std::uint64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%08llu", static_cast<unsigned long long>(step));
  return name;
}

fs::path unfinished_folder(const fs::path& root, std::uint64_t step) {
  return root / (std::string(kUnfinished) + folder_name(step));
}

[[noreturn]] void fail(const fs::path& path, const char* what) {
  throw std::runtime_error(path.string() + ": cannot " + what + ": " + std::strerror(errno));
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : value_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (value_ < 0) fail(path, "open");
  }
  ~Descriptor() { ::close(value_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

// A rename is only as lasting as the folder that records it.
void flush_folder(const fs::path& path) {
  const Descriptor folder(path, O_RDONLY | O_DIRECTORY);
  if (::fsync(folder.get()) != 0) fail(path, "flush");
}

void write_flushed(const fs::path& path, std::span<const std::byte> bytes) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(path, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (::fsync(file.get()) != 0) fail(path, "flush");
}

// The state as one array; a shard is a slice of it.
std::vector<float> flatten(const TrainingState& state) {
  std::vector<float> all;
  all.reserve(3 * state.parameters.size());
  for (const auto* part : {&state.parameters, &state.first_moment, &state.second_moment}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

TrainingState unflatten(std::uint64_t step, const std::vector<float>& all) {
  const auto third = static_cast<std::ptrdiff_t>(all.size() / 3);
  TrainingState state;
  state.step = step;
  state.parameters.assign(all.begin(), all.begin() + third);
  state.first_moment.assign(all.begin() + third, all.begin() + 2 * third);
  state.second_moment.assign(all.begin() + 2 * third, all.end());
  return state;
}

// The manifest vouches for the shards; its own last key vouches for the manifest.
std::string self_checksum(json manifest) {
  manifest.erase("manifest_sha256");
  const std::string text = manifest.dump();
  return sha256(std::as_bytes(std::span(text)));
}

json make_manifest(const TrainingState& state, const std::vector<Shard>& shards) {
  json files = json::array();
  for (const Shard& s : shards)
    files.push_back({{"name", s.name}, {"size", s.size}, {"sha256", s.sha256}});
  json manifest = {{"format", kFormat},
                   {"step", state.step},
                   {"world_size", shards.size()},
                   {"model_digest", parameter_digest(state)},
                   {"files", std::move(files)}};
  manifest["manifest_sha256"] = self_checksum(manifest);
  return manifest;
}

struct Rejected {
  std::string reason;
};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Rejected{"no " + path.filename().string()};
  std::string content;
  std::array<char, 65536> buffer{};
  while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0) {
    content.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) throw Rejected{path.filename().string() + " cannot be read"};
  return content;
}

json read_manifest(const fs::path& folder) {
  json manifest = json::parse(read_file(folder / kManifest), nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object()) throw Rejected{"manifest.json is not complete"};
  if (manifest.value("manifest_sha256", "") != self_checksum(manifest)) {
    throw Rejected{"manifest.json does not have its own checksum"};
  }
  if (manifest.value("format", "") != kFormat) throw Rejected{"manifest.json is of another format"};
  if (folder.filename() != folder_name(manifest.at("step").get<std::uint64_t>())) {
    throw Rejected{"manifest.json is of another step"};
  }
  return manifest;
}

void append_shard(const fs::path& folder, const json& entry, std::vector<float>& all) {
  const auto name = entry.at("name").get<std::string>();
  const auto size = entry.at("size").get<std::uint64_t>();
  const std::string bytes = read_file(folder / name);
  if (bytes.size() != size) {
    throw Rejected{name + " has " + std::to_string(bytes.size()) + " bytes instead of " +
                   std::to_string(size)};
  }
  if (sha256(std::as_bytes(std::span(bytes))) != entry.at("sha256").get<std::string>()) {
    throw Rejected{name + " does not have the checksum in manifest.json"};
  }
  const std::size_t before = all.size();
  all.resize(before + bytes.size() / sizeof(float));
  // A shard of a tiny model among many ranks may be empty.
  const auto target = std::as_writable_bytes(std::span(all).subspan(before));
  std::copy_n(std::as_bytes(std::span(bytes)).begin(), target.size(), target.begin());
}

TrainingState load(const fs::path& folder) try {
  const json manifest = read_manifest(folder);
  std::vector<float> all;
  for (const json& entry : manifest.at("files")) append_shard(folder, entry, all);
  TrainingState state = unflatten(manifest.at("step").get<std::uint64_t>(), all);
  if (parameter_digest(state) != manifest.at("model_digest").get<std::string>()) {
    throw Rejected{"the parameters do not have the digest in manifest.json"};
  }
  return state;
} catch (const json::exception& e) {
  throw Rejected{std::string("manifest.json: ") + e.what()};
}

// Newest first; steps are padded with zeros, so names sort as numbers do.
std::vector<fs::path> folders_with_prefix(const fs::path& root, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code ignored;  // no folder yet is no checkpoint
  for (const auto& entry : fs::directory_iterator(root, ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) found.push_back(entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

}  // namespace

void prepare_checkpoint(const fs::path& root, std::uint64_t step) {
  const fs::path folder = unfinished_folder(root, step);
  fs::remove_all(folder);
  fs::create_directories(folder);
}

Shard write_shard(const fs::path& root, const TrainingState& state, int rank, int world_size) {
  const std::vector<float> all = flatten(state);
  const auto r = static_cast<std::size_t>(rank), world = static_cast<std::size_t>(world_size);
  const std::size_t begin = all.size() * r / world, end = all.size() * (r + 1) / world;
  const auto bytes = std::as_bytes(std::span(all).subspan(begin, end - begin));

  Shard shard;
  shard.name = "shard-" + std::to_string(rank) + "-of-" + std::to_string(world_size) + ".bin";
  shard.size = bytes.size();
  shard.sha256 = sha256(bytes);
  write_flushed(unfinished_folder(root, state.step) / shard.name, bytes);
  return shard;
}

void publish_checkpoint(const fs::path& root, const TrainingState& state,
                        const std::vector<Shard>& shards) {
  const fs::path folder = unfinished_folder(root, state.step);
  const std::string manifest = make_manifest(state, shards).dump(2) + "\n";
  const fs::path temporary = folder / "manifest.json.unfinished";
  write_flushed(temporary, std::as_bytes(std::span(manifest)));
  fs::rename(temporary, folder / kManifest);
  flush_folder(folder);

  const fs::path published = root / folder_name(state.step);
  fs::remove_all(published);  // a damaged one of the same step, which was passed over at the start
  fs::rename(folder, published);
  flush_folder(root);
}

void prune_checkpoints(const fs::path& root, std::size_t keep) {
  const std::vector<fs::path> folders = folders_with_prefix(root, "step-");
  for (std::size_t i = keep; i < folders.size(); ++i) fs::remove_all(folders[i]);
  for (const fs::path& folder : folders_with_prefix(root, kUnfinished)) fs::remove_all(folder);
}

std::optional<TrainingState> load_newest_valid(const fs::path& root,
                                               const RejectionSink& rejected) {
  for (const fs::path& folder : folders_with_prefix(root, kUnfinished)) {
    rejected(folder.filename().string(), "it was never finished");
  }
  for (const fs::path& folder : folders_with_prefix(root, "step-")) {
    try {
      return load(folder);
    } catch (const Rejected& e) {
      rejected(folder.filename().string(), e.reason);
    }
  }
  return std::nullopt;
}

}  // namespace train_lm
