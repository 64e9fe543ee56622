#include "adapters/webhook/redact.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace faultline {
namespace {

constexpr std::string_view mark = "[redacted]";

bool alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool of_token(char c) { return alphanumeric(c) || c == '_' || c == '-' || c == '.'; }
bool blank(char c) { return c == ' ' || c == '\t'; }

std::size_t end_of(std::string_view text, std::size_t from, bool (*belongs)(char)) {
  while (from < text.size() && belongs(text[from])) ++from;
  return from;
}

// --- keys that are known by their form -------------------------------------------------------

struct KnownForm {
  std::string_view start;
  std::size_t bytes_min;  // of what follows
};
constexpr std::array known_forms = {
    KnownForm{"AKIA", 16},  KnownForm{"ASIA", 16}, KnownForm{"xoxb-", 8},
    KnownForm{"xoxp-", 8},  KnownForm{"xoxa-", 8}, KnownForm{"xapp-", 8},
    KnownForm{"ghp_", 16},  KnownForm{"gho_", 16}, KnownForm{"ghs_", 16},
    KnownForm{"hf_", 16},   KnownForm{"sk-", 16},  KnownForm{"github_pat_", 16},
    KnownForm{"glpat-", 8}, KnownForm{"eyJ", 24},
};

/// End of the known key that starts at `at`, or `at`.
std::size_t known_key_end(std::string_view text, std::size_t at) {
  if (at > 0 && of_token(text[at - 1])) return at;
  for (const auto& form : known_forms) {
    if (!text.substr(at).starts_with(form.start)) continue;
    const std::size_t end = end_of(text, at, of_token);
    if (end - at >= form.start.size() + form.bytes_min) return end;
  }
  return at;
}

// --- name = value ------------------------------------------------------------------------------

constexpr std::array<std::string_view, 13> secret_names = {
    "password", "passwd",     "passphrase", "pwd",         "secret",     "token",        "api_key",
    "apikey",   "access_key", "secret_key", "private_key", "credential", "authorization"};

bool secret_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return std::ranges::any_of(secret_names,
                             [&](std::string_view secret) { return name.ends_with(secret); });
}

bool number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

struct Span {
  std::size_t begin;
  std::size_t end;
};

/// The value behind "NAME=", "NAME: ", "\"NAME\": \"": what is to be taken out if the name at
/// [begin, end) is a secret's.
Span value_of(std::string_view text, std::size_t name_begin, std::size_t name_end) {
  const Span nothing{name_end, name_end};
  const std::string name = to_lower(text.substr(name_begin, name_end - name_begin));
  if (!secret_name(name)) return nothing;
  std::size_t at = name_end;
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) ++at;
  at = end_of(text, at, blank);
  if (at >= text.size() || (text[at] != '=' && text[at] != ':')) return nothing;
  at = end_of(text, at + 1, blank);
  const char quote = at < text.size() && (text[at] == '"' || text[at] == '\'') ? text[at] : '\0';
  if (quote != '\0') ++at;
  if (text.substr(at).starts_with(mark)) return nothing;
  // A header's value may have blanks ("Basic dXNlcg=="); other values end at one.
  const std::string_view ends = quote != '\0' ? std::string_view("\"'\n")
                                : name.ends_with("authorization")
                                    ? std::string_view("\n\"'")
                                    : std::string_view(" \t\n&;,\"')]}");
  const std::size_t end = std::min(text.find_first_of(ends, at), text.size());
  // Training logs count tokens; a bare number is no secret of that name.
  if (name.ends_with("token") && number(text.substr(at, end - at))) return nothing;
  return {at, end};
}

/// "Bearer abc...", wherever it stands.
Span bearer_of(std::string_view text, std::size_t begin, std::size_t end) {
  const std::string word = to_lower(text.substr(begin, end - begin));
  if ((word != "bearer" && word != "basic") || end >= text.size() || text[end] != ' ')
    return {end, end};
  constexpr std::size_t bytes_min = 8;
  const std::size_t token_end = end_of(text, end + 1, [](char c) {
    return of_token(c) || c == '=' || c == '/' || c == '+' || c == '~';
  });
  if (token_end - end - 1 < bytes_min) return {end, end};
  return {end + 1, token_end};
}

/// "user:password@" behind "://" at `at`.
Span user_of_url(std::string_view text, std::size_t at) {
  const std::size_t stop = std::min(text.find_first_of(" \t\n\"'<>/?#", at), text.size());
  const std::size_t sign = text.substr(0, stop).rfind('@');
  return sign == std::string_view::npos || sign < at ? Span{at, at} : Span{at, sign};
}

/// End of the PEM private key that starts at `at`, or `at`.
std::size_t private_key_end(std::string_view text, std::size_t at) {
  constexpr std::string_view begin = "-----BEGIN ";
  constexpr std::string_view kind = "PRIVATE KEY-----";
  if (!text.substr(at).starts_with(begin)) return at;
  const std::size_t head = text.find(kind, at);
  if (head == std::string_view::npos || head > at + 40) return at;
  const std::size_t tail = text.find(kind, head + kind.size());
  return tail == std::string_view::npos ? text.size() : tail + kind.size();
}

/// What at `at` is to be taken out: an empty span if nothing. `next` is where to look on.
Span secret_at(std::string_view text, std::size_t at, std::size_t& next) {
  next = at + 1;
  if (const std::size_t end = private_key_end(text, at); end > at) return {at, end};
  if (text.substr(at).starts_with("://")) {
    next = at + 3;
    return user_of_url(text, at + 3);
  }
  if (!of_token(text[at]) || (at > 0 && of_token(text[at - 1]))) return {at, at};
  if (const std::size_t end = known_key_end(text, at); end > at) return {at, end};
  next = end_of(text, at, of_token);
  if (const Span value = value_of(text, at, next); value.end > value.begin) return value;
  return bearer_of(text, at, next);
}

}  // namespace

std::string redact(std::string_view text) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t next = at + 1;
    const Span secret = secret_at(text, at, next);
    if (secret.end > secret.begin) {
      out.append(text.substr(copied, secret.begin - copied)).append(mark);
      copied = secret.end;
      next = secret.end;
    }
    at = next;
  }
  return out.append(text.substr(copied));
}

std::string url_shown(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(mark);
  const auto rest = url.substr(scheme + 3);
  auto host = rest.substr(0, rest.find_first_of("/?#"));
  if (const auto sign = host.rfind('@'); sign != std::string_view::npos)
    host.remove_prefix(sign + 1);
  return printable(std::string(url.substr(0, scheme + 3)) + std::string(host), 256);
}

}  // namespace faultline
