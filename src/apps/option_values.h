// What may be given to an option. Each check names the wrong value, what would be right and an
// example; it holds on the command line and in a configuration file alike, and ends in exit code 2.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>

namespace faultline {

/// A decimal number in digits, nothing around it: a leading zero would mean octal to some.
CLI::Validator whole_number(std::int64_t least, std::int64_t most, std::int64_t example);
/// A finite one; 0.5 and 1e3 are, inf and nan are not.
CLI::Validator real_number(double least, double most, double example);

/// Takes HOST:PORT alone, [ADDRESS]:PORT for IPv6: without brackets nobody can tell where the
/// address ends. `any_port`: 0 asks for a free one. Empty means not given.
CLI::Validator host_and_port(bool any_port);

/// As schedulers spell nodes. Empty means not given.
CLI::Validator node_name();

/// A path that is a folder, or goes through a file, cannot name a file. Whether there is one is
/// said by whoever opens it.
CLI::Validator file_path();
/// The same for folders.
CLI::Validator folder_path();

/// The two for several options of `command`.
void expect_files(CLI::App& command, std::initializer_list<const char*> options);
void expect_folders(CLI::App& command, std::initializer_list<const char*> options);

}  // namespace faultline
