// A verb's TOML configuration: each key is the long name of an option of that verb ("kernel-log"
// for --kernel-log), lists are repeated options. What stands on the command line wins. An unknown
// key, and a value of another type than the option's, is an error with its line.
#pragma once

#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace faultline {

Result<toml::table> read_config(const std::string& file);

/// Call after parsing. `sections` are tables that somebody else reads ("limits").
Status apply_config(CLI::App& command, const std::string& file,
                    const std::vector<std::string>& sections = {});

}  // namespace faultline
