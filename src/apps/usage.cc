#include "apps/usage.h"

#include <algorithm>

#include "apps/output.h"
#include "base/nearest.h"
#include "base/text.h"

namespace faultline {
namespace {

constexpr std::size_t shown_bytes_max = 80;

std::string in_quotes(std::string_view word) {
  return "'" + printable(word, shown_bytes_max) + "'";
}

Error wrong(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

/// Of the verbs that help lists, and of the hidden ones.
const CLI::App* verb_of(const CLI::App& app, const std::string& word) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    if (verb->check_name(word)) return verb;
  return nullptr;
}

std::vector<std::string> shown_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!verb->get_group().empty()) names.push_back(verb->get_name());
  return names;
}

/// The verb that was being read, and its words: "faultline pki issue".
std::pair<const CLI::App*, std::string> deepest(const CLI::App& app) {
  const CLI::App* at = &app;
  std::string words = app.get_name();
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    words += " " + at->get_name();
  }
  return {at, words};
}

bool has_option(const CLI::App& command, const std::string& name) {
  const auto names = long_options(command);
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Of an option that stands before the verb it belongs to: "; it follows the verb: ...". Else "".
std::string follows_verb(const CLI::App& app, const CLI::App& verb, const std::string& name) {
  if (&verb != &app && has_option(verb, name))
    return "; it follows the verb: faultline " + verb.get_name() + " --" + name;
  if (&verb != &app) return "";
  const auto verbs = app.get_subcommands(
      [&](const CLI::App* each) { return !each->get_group().empty() && has_option(*each, name); });
  return verbs.empty() ? "" : "; it follows a verb: `" + app.get_name() + " --help` lists them";
}

bool value_is_wrong(const CLI::ParseError& error) {
  return dynamic_cast<const CLI::ValidationError*>(&error) != nullptr ||
         dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
}

}  // namespace

std::optional<Error> unknown_verb(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  std::string path = app.get_name();
  for (const auto& word : words) {
    const auto verbs = shown_verbs(*at);
    if (word.starts_with("-") || verbs.empty()) return std::nullopt;
    const CLI::App* next = verb_of(*at, word);
    if (next == nullptr) {
      const std::string meant = did_you_mean(word, verbs);
      return wrong("no verb " + in_quotes(word) +
                   (meant.empty() ? "; `" + path + " --help` lists what there is" : meant));
    }
    at = next;
    path += " " + word;
  }
  return std::nullopt;
}

std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv) {
  if (const auto wrong = unknown_verb(app, {argv + 1, argv + argc})) return fail(*wrong);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    const bool version = asked.get_name() == "CallForVersion";
    print(version ? std::string(asked.what()) + "\n" : app.help());
    return exit_ok;
  } catch (const CLI::ParseError& error) {
    return fail(usage_error(app, error));
  }
  return std::nullopt;
}

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto [verb, words] = deepest(app);
  const std::string help = "; `" + words + " --help` lists what there is";
  auto extras = app.remaining(true);
  std::erase(extras, "--");  // the mark itself is never wrong
  // What follows a verb that starts a program is the program's; and a value that is wrong is named
  // before words that may only be left over because of it.
  if (extras.empty() || verb->get_prefix_command() || value_is_wrong(error)) {
    const bool no_verb = verb->get_require_subcommand_min() > 0;
    return wrong((no_verb ? "a verb is missing" : printable(error.what(), 4 * shown_bytes_max)) +
                 help);
  }
  // An option that is not known leaves its value over, and the words behind.
  const auto option = std::find_if(extras.begin(), extras.end(),
                                   [](const auto& extra) { return extra.starts_with("--"); });
  const std::string& word = option != extras.end() ? *option : extras.front();
  if (!word.starts_with("--")) return wrong(in_quotes(word) + " has no meaning here" + help);
  const std::string name = word.substr(2, word.find('=') - 2);
  if (const auto after = follows_verb(app, *verb, name); !after.empty())
    return wrong("no option " + in_quotes("--" + name) + " here" + after);
  const std::string meant = nearest(name, long_options(*verb));
  return wrong("no option " + in_quotes("--" + name) +
               (meant.empty() ? help : "; did you mean '--" + meant + "'?"));
}

}  // namespace faultline
