#include "adapters/webhook/post.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "adapters/webhook/curl_library.h"
#include "base/version.h"

namespace faultline {
namespace {

constexpr std::size_t answer_bytes_kept = 200;  // of the receiver's words, for the message

struct CurlDeleter {
  void operator()(CURL* curl) const { curl_library().easy_cleanup(curl); }
};
struct HeadersDeleter {
  void operator()(curl_slist* list) const { curl_library().slist_free_all(list); }
};

std::size_t keep_start(char* data, std::size_t size, std::size_t count, void* answer) {
  auto& text = *static_cast<std::string*>(answer);
  const std::size_t bytes = size * count;
  text.append(data, std::min(bytes, answer_bytes_kept - std::min(text.size(), answer_bytes_kept)));
  return bytes;
}

int give_up(void* request, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const PostRequest*>(request)->give_up() ? 1 : 0;
}

long milliseconds(Duration duration) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

std::unique_ptr<curl_slist, HeadersDeleter> header_list(const std::vector<std::string>& headers) {
  // Without "Expect:" curl waits a second before it sends a larger body.
  std::unique_ptr<curl_slist, HeadersDeleter> list(curl_library().slist_append(nullptr, "Expect:"));
  for (const auto& header : headers) {
    curl_slist* longer = curl_library().slist_append(list.get(), header.c_str());
    if (longer == nullptr) break;
    static_cast<void>(list.release());
    list.reset(longer);
  }
  return list;
}

/// Faults that another attempt may not meet. A certificate that does not verify stays as it is.
bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_CONNECT_ERROR: return true;
    default: return false;
  }
}

PostResult judge(CURL* curl, const std::string& answer) {
  long code = 0;
  curl_off_t retry_after_s = 0;
  curl_library().easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
  curl_library().easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after_s);
  PostResult result;
  result.delivered = code >= 200 && code < 300;
  result.retryable = code == 429 || code >= 500;
  constexpr curl_off_t day_s = 86400;
  result.retry_after = std::chrono::seconds{std::clamp<curl_off_t>(retry_after_s, 0, day_s)};
  result.why = "answered " + std::to_string(code);
  if (code >= 300 && code < 400) result.why += ": redirects are not followed, give the final URL";
  if (code >= 400 && !answer.empty()) result.why += ": " + answer;
  return result;
}

}  // namespace

void prepare_posts() { static_cast<void>(curl_library()); }

PostResult post(const PostRequest& request) {
  if (!curl_library().loaded())
    return {false, false, Duration{0}, "libcurl is not installed: apt-get install libcurl4"};
  const std::unique_ptr<CURL, CurlDeleter> curl(curl_library().easy_init());
  const auto headers = header_list(request.headers);
  if (!curl || !headers) return {false, true, Duration{0}, "out of memory"};
  std::string answer;
  const std::string agent = "faultline/" + std::string(kVersion);
  curl_library().easy_setopt(curl.get(), CURLOPT_URL, request.url.c_str());
  curl_library().easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_library().easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 0L);
  curl_library().easy_setopt(curl.get(), CURLOPT_NOSIGNAL,
                             1L);  // other threads must not be interrupted
  curl_library().easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT_MS,
                             milliseconds(request.connect_deadline));
  curl_library().easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, milliseconds(request.answer_deadline));
  curl_library().easy_setopt(curl.get(), CURLOPT_SSL_VERIFYPEER, 1L);
  curl_library().easy_setopt(curl.get(), CURLOPT_SSL_VERIFYHOST, 2L);
  curl_library().easy_setopt(curl.get(), CURLOPT_USERAGENT, agent.c_str());
  curl_library().easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_library().easy_setopt(curl.get(), CURLOPT_POSTFIELDS, request.body.data());
  curl_library().easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE,
                             static_cast<curl_off_t>(request.body.size()));
  curl_library().easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, keep_start);
  curl_library().easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer);
  curl_library().easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
  curl_library().easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, give_up);
  curl_library().easy_setopt(curl.get(), CURLOPT_XFERINFODATA, const_cast<PostRequest*>(&request));
  const CURLcode code = curl_library().easy_perform(curl.get());
  if (code == CURLE_OK) return judge(curl.get(), answer);
  return {false, may_pass(code), Duration{0}, curl_library().easy_strerror(code)};
}

}  // namespace faultline
