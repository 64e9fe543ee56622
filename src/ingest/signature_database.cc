#include "ingest/signature_database.h"

#include <hs/hs.h>
#include <malloc.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/text.h"
#include "ingest/database_cache.h"

namespace faultline {
namespace {

// A log is bytes: '.' matches any of them, as in RE2's Latin-1 mode. '^' and '$' are those of a
// line.
constexpr unsigned pattern_flags = HS_FLAG_MULTILINE;

/// Changes with whatever makes a compiled form useless: patterns, layers, library, processor.
std::string cache_key(const Catalog& catalog, const std::vector<Layer>& layers) {
  hs_platform_info_t platform{};
  hs_populate_platform(&platform);
  StableHash hash;
  hash.add(catalog.fingerprint()).add(hs_version());
  hash.add(static_cast<std::int64_t>(platform.tune))
      .add(static_cast<std::int64_t>(platform.cpu_features));
  hash.add(static_cast<std::int64_t>(pattern_flags)).add("without anchors, text alone");
  for (const Layer layer : layers) hash.add(to_text(layer));
  return hash.hex();
}

Error compile_error(const std::vector<const Signature*>& signatures,
                    const hs_compile_error_t& error) {
  const auto index = static_cast<std::size_t>(error.expression);
  const std::string id =
      error.expression >= 0 && index < signatures.size() ? signatures[index]->id : "(all)";
  return {ErrorCode::invalid_argument,
          "signature '" + id + "' cannot be compiled: " +
              printable(error.message == nullptr ? "" : error.message, 200)};
}

/// What Vectorscan looks for: more than the signatures, since RE2 has the last word.
std::vector<std::string> loose_patterns(const std::vector<const Signature*>& signatures) {
  std::vector<std::string> patterns;
  for (const Signature* signature : signatures) {
    patterns.push_back(
        without_anchors(signature->filter.empty() ? signature->pattern : signature->filter));
  }
  return patterns;
}

Result<hs_database_t*> compile(const std::vector<const Signature*>& signatures) {
  const std::vector<std::string> loose = loose_patterns(signatures);
  std::vector<const char*> patterns;
  std::vector<unsigned> flags(loose.size(), pattern_flags);
  std::vector<unsigned> ids;
  for (const std::string& pattern : loose) {
    ids.push_back(static_cast<unsigned>(patterns.size()));
    patterns.push_back(pattern.c_str());
  }
  hs_database_t* database = nullptr;
  hs_compile_error_t* error = nullptr;
  const auto status = hs_compile_multi(patterns.data(), flags.data(), ids.data(),
                                       static_cast<unsigned>(patterns.size()), HS_MODE_BLOCK,
                                       nullptr, &database, &error);
  if (status == HS_SUCCESS) return database;
  const Error out = error == nullptr
                        ? Error{ErrorCode::internal, "Vectorscan failed without a word"}
                        : compile_error(signatures, *error);
  hs_free_compile_error(error);
  return out;
}

hs_database_t* deserialize(const std::string& bytes) {
  hs_database_t* database = nullptr;
  return hs_deserialize_database(bytes.data(), bytes.size(), &database) == HS_SUCCESS ? database
                                                                                      : nullptr;
}

/// A cache that cannot be written costs time at the next start and nothing else.
void save(const hs_database_t* database, const std::filesystem::path& file, const std::string& key,
          Counters& counters) {
  char* bytes = nullptr;
  std::size_t size = 0;
  if (hs_serialize_database(database, &bytes, &size) != HS_SUCCESS) return;
  if (!write_cache(file, key, {bytes, size}).ok())
    counters.add("signature_cache_write_failures_total");
  std::free(bytes);
}

hs_database_t* load_cached(const std::filesystem::path& file, const std::string& key,
                           Counters& counters) {
  const auto bytes = read_cache(file, key);
  hs_database_t* database = bytes.ok() ? deserialize(*bytes) : nullptr;
  if (database != nullptr) {
    counters.add("signature_cache_hits_total");
  } else if (bytes.ok() || bytes.error().code != ErrorCode::not_found) {
    counters.add("signature_cache_rejected_total");
  }
  return database;
}

Result<hs_database_t*> load_or_compile(const std::vector<const Signature*>& signatures,
                                       const std::string& key,
                                       const std::filesystem::path& cache_folder,
                                       Counters& counters) {
  const auto file = cache_path(cache_folder, key);
  if (!cache_folder.empty()) {
    if (hs_database_t* cached = load_cached(file, key, counters)) return cached;
  }
  auto database = compile(signatures);
  counters.add("signature_compiles_total");
  if (database.ok() && !cache_folder.empty()) save(*database, file, key, counters);
  malloc_trim(0);  // compiling leaves megabytes that the process would keep
  return database;
}

}  // namespace

std::string without_anchors(std::string_view pattern) {
  std::string out;
  bool in_brackets = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      out += c;
      out += pattern[++i];
      continue;
    }
    if (c == '[' && !in_brackets) {
      in_brackets = true;
      out += c;
      // "[^...]" and "[]...]": these belong to the brackets.
      if (i + 1 < pattern.size() && pattern[i + 1] == '^') out += pattern[++i];
      if (i + 1 < pattern.size() && pattern[i + 1] == ']') out += pattern[++i];
      continue;
    }
    if (c == ']') in_brackets = false;
    if ((c == '^' || c == '$') && !in_brackets) continue;
    out += c;
  }
  return out;
}

std::vector<Layer> layers_of(EventSource source) {
  switch (source) {
    case EventSource::kernel_log: return {Layer::kernel};
    case EventSource::job_log: return {Layer::scheduler, Layer::application};
    case EventSource::scheduler: return {Layer::scheduler};
    case EventSource::launcher:
    case EventSource::nvml:
    case EventSource::agent:
    case EventSource::controller:
    case EventSource::person:
    case EventSource::collective_trace: return {};
  }
  return {};
}

struct SignatureDatabase::Lazy {
  std::mutex mutex;
  /// By index; an expression never moves once it is there.
  std::vector<std::unique_ptr<re2::RE2>> expressions;
  std::vector<hs_scratch*> idle_scratches;
};

SignatureDatabase::SignatureDatabase() : lazy_(std::make_unique<Lazy>()) {}

SignatureDatabase::~SignatureDatabase() {
  for (hs_scratch* scratch : lazy_->idle_scratches) hs_free_scratch(scratch);
  hs_free_database(compiled_);
}

Result<std::shared_ptr<const SignatureDatabase>> SignatureDatabase::open(
    const Catalog& catalog, const std::vector<Layer>& layers,
    const std::filesystem::path& cache_folder, Counters& counters) {
  std::shared_ptr<SignatureDatabase> database(new SignatureDatabase);
  for (const Signature& signature : catalog.signatures()) {
    if (std::find(layers.begin(), layers.end(), signature.layer) != layers.end()) {
      database->signatures_.push_back(&signature);
    }
  }
  database->lazy_->expressions.resize(database->signatures_.size());
  if (database->signatures_.empty())
    return std::shared_ptr<const SignatureDatabase>(std::move(database));
  const auto compiled =
      load_or_compile(database->signatures_, cache_key(catalog, layers), cache_folder, counters);
  if (!compiled.ok()) return compiled.error();
  database->compiled_ = *compiled;
  return std::shared_ptr<const SignatureDatabase>(std::move(database));
}

bool SignatureDatabase::cached(const Catalog& catalog, const std::vector<Layer>& layers,
                               const std::filesystem::path& cache_folder) {
  const bool needed = std::any_of(
      catalog.signatures().begin(), catalog.signatures().end(), [&](const Signature& signature) {
        return std::find(layers.begin(), layers.end(), signature.layer) != layers.end();
      });
  const std::string key = cache_key(catalog, layers);
  return !needed || read_cache(cache_path(cache_folder, key), key).ok();
}

const re2::RE2& SignatureDatabase::expression(std::size_t index) const {
  FAULTLINE_CHECK(index < signatures_.size());
  const std::lock_guard lock(lazy_->mutex);
  auto& slot = lazy_->expressions[index];
  if (slot == nullptr) {
    RE2::Options options(RE2::Latin1);
    options.set_log_errors(false);
    slot = std::make_unique<RE2>(signatures_[index]->pattern, options);
  }
  return *slot;
}

std::size_t SignatureDatabase::compiled_bytes() const {
  std::size_t bytes = 0;
  return compiled_ != nullptr && hs_database_size(compiled_, &bytes) == HS_SUCCESS ? bytes : 0;
}

hs_scratch* SignatureDatabase::take_scratch() const {
  const std::lock_guard lock(lazy_->mutex);
  if (!lazy_->idle_scratches.empty()) {
    hs_scratch* scratch = lazy_->idle_scratches.back();
    lazy_->idle_scratches.pop_back();
    return scratch;
  }
  hs_scratch* scratch = nullptr;
  return hs_alloc_scratch(compiled_, &scratch) == HS_SUCCESS ? scratch : nullptr;
}

void SignatureDatabase::give_scratch(hs_scratch* scratch) const {
  if (scratch == nullptr) return;
  const std::lock_guard lock(lazy_->mutex);
  lazy_->idle_scratches.push_back(scratch);
}

}  // namespace faultline
