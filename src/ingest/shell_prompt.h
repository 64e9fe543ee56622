// What somebody copied from a terminal: prompts, the commands typed there, and what each printed.
// The prompt says on which machine, where the output itself does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace faultline {

struct ShellPrompt {
  std::string_view host;     // "" if the prompt does not say it, or names a container by its id
  std::string_view command;  // what was typed; "" for a prompt alone
};

/// "user@host:~$ dmesg", "[root@host ~]# dmesg", "(env) user@host:/srv$ python a.py", "host:~ #
/// dmesg", "$ dmesg"; nullopt for a line that is none. A "#" without a host begins a remark.
std::optional<ShellPrompt> shell_prompt(std::string_view line);

/// The machine that the output of a command is about: that of the prompt where the command asks its
/// own machine ("dmesg", "nvidia-smi", "python train.py"), the other where it asks one by name
/// ("ssh n3 dmesg"); "" where that cannot be known ("srun ...", "kubectl logs ...", "cat
/// notes.txt").
std::string_view asked_host(const ShellPrompt& prompt);

/// What one command printed.
struct SessionPart {
  std::string_view text;
  std::uint64_t offset = 0;  // of it in the session
  std::string host;          // asked_host() of its command; "" before the first
};

/// Splits a session at its prompts, which are in no part; a part holds something besides spaces.
/// Empty for a text without a prompt that names a host.
std::vector<SessionPart> session_parts(std::string_view text);

}  // namespace faultline
