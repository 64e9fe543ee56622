// Takes secrets out of text that leaves the cluster. Log lines and commands end up in messages, and
// people put passwords in both.
#pragma once

#include <string>
#include <string_view>

namespace faultline {

/// `text` with what looks like a secret replaced by "[redacted]": values of password=, token:,
/// secret, api_key and the like; Authorization headers and bearer tokens; user and password in
/// URLs; keys whose form gives them away (AWS, Slack, GitHub, Hugging Face, OpenAI, JWT); PEM
/// private keys. Better one too many: what is lost here is still in the store.
std::string redact(std::string_view text);

/// "https://hooks.example" of a URL: what may be shown of it, since a path or query may itself be
/// the secret.
std::string url_shown(std::string_view url);

}  // namespace faultline
