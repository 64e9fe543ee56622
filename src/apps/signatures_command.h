// The hidden verb `faultline compile-signatures`. Compiling leaves megabytes of Vectorscan's
// compiler resident for as long as the process lives, so the agent has a child do it and only loads
// the result.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "base/counters.h"
#include "catalog/catalog.h"

namespace faultline {

struct SignaturesOptions {
  std::string catalog;
  std::string cache;
};

void add_signatures_command(CLI::App& app, SignaturesOptions& options);
/// Fills the cache with all that an agent may need. An exit code of output.h.
int signatures_main(const SignaturesOptions& options);

/// The child's command: absolute paths, since it starts in another folder.
std::vector<std::string> signatures_command(const std::filesystem::path& catalog_folder,
                                            const std::filesystem::path& cache);

/// Makes sure that the cache has what an agent may need: nothing to do if it has, else `child` is
/// run, and what it could not do is done here. invalid_argument if a pattern cannot be compiled.
/// Once `stop` is true the child is killed and nothing is prepared: the caller ends. Counters:
/// signature_child_failures_total, and those of SignatureDatabase::open.
Status prepare_signatures(const Catalog& catalog, const std::filesystem::path& cache,
                          const std::vector<std::string>& child, Counters& counters,
                          const std::atomic<bool>& stop);

}  // namespace faultline
