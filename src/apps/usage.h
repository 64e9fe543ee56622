// What is said when the command line is wrong: what was not understood, what was probably meant,
// and where the right words are listed.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace faultline {

/// The first word that should be a verb of `app` and is none; asked before parsing, since the
/// parser would say only that something was not expected.
std::optional<Error> unknown_verb(const CLI::App& app, const std::vector<std::string>& words);

/// What the parser of `app` did not like.
Error usage_error(const CLI::App& app, const CLI::ParseError& error);

/// Parses. An exit code if nothing is left to do: the line was wrong, or asked for help or for the
/// version; that has been said.
std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv);

/// The long options of `command`, without dashes: its words on the command line and the keys of its
/// configuration file.
std::vector<std::string> long_options(const CLI::App& command);

}  // namespace faultline
