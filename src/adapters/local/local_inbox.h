// LocalInbox: the requests that wait in a local cluster's inbox. Whatever lies there was written by
// somebody else: what is no request of this user is moved to inbox/refused, with the reason beside
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "adapters/local/local_request.h"
#include "adapters/local/state_folder.h"
#include "base/counters.h"

namespace faultline {

inline constexpr std::size_t requests_a_look_max =
    64;  // so that a full inbox does not hold up the jobs
inline constexpr std::size_t refused_kept = 100;

struct InboxEntry {
  std::string name;
  std::string text;
  LocalRequest request;
};

class LocalInbox {
 public:
  explicit LocalInbox(const StateFolder& folder) : folder_(folder) {}

  /// The oldest requests. `refuse_junk` is given what is none, as (name, why).
  template <class RefuseJunk>
  [[nodiscard]] std::vector<InboxEntry> read(RefuseJunk refuse_junk) const {
    std::vector<InboxEntry> entries;
    for (const auto& name : names()) {
      const auto text = read_own_file(folder_.inbox() / name, request_bytes_max);
      if (!text && text.error().code == ErrorCode::not_found) continue;
      const auto request = text ? parse_request(*text) : Result<LocalRequest>(text.error());
      if (request) {
        entries.push_back({name, *text, *request});
      } else {
        refuse_junk(name, request.error().message);
      }
      if (entries.size() >= requests_a_look_max) break;
    }
    return entries;
  }
  void remove(const std::string& name) const;
  void refuse(const std::string& name, const std::string& why) const;
  /// Why a request was refused; nullopt if it was not.
  [[nodiscard]] std::optional<std::string> refusal(const std::string& name) const;
  [[nodiscard]] bool waits(const std::string& name) const;

 private:
  [[nodiscard]] std::vector<std::string> names() const;
  void forget_old_refusals() const;

  const StateFolder& folder_;
};

}  // namespace faultline
