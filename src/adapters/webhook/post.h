// One HTTP POST with libcurl: no redirects, http and https alone, certificates verified, a limit on
// everything.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/time.h"

namespace faultline {

struct PostRequest {
  std::string url;
  std::string body;
  std::vector<std::string> headers;  // "Name: value"
  Duration connect_deadline;
  Duration answer_deadline;       // of the whole
  std::function<bool()> give_up;  // asked now and then; true ends the transfer
};

struct PostResult {
  bool delivered = false;   // answered with 2xx
  bool retryable = false;   // 429, 5xx, or no answer
  Duration retry_after{0};  // what the receiver asked for, 0 if nothing
  std::string why;          // of a failure
};

/// Once, before the first post and before other threads run.
void prepare_posts();
PostResult post(const PostRequest& request);

}  // namespace faultline
