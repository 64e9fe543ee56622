#include "adapters/webhook/curl_library.h"

#include "base/dynamic_library.h"

namespace faultline {
namespace {

CurlLibrary load() {
  CurlLibrary curl;
  const DynamicLibrary library("libcurl.so.4");  // its ABI since 2006
  if (!library.loaded()) return curl;
  const bool whole = library.find("curl_global_init", curl.global_init) &&
                     library.find("curl_easy_init", curl.easy_init) &&
                     library.find("curl_easy_cleanup", curl.easy_cleanup) &&
                     library.find("curl_easy_setopt", curl.easy_setopt) &&
                     library.find("curl_easy_getinfo", curl.easy_getinfo) &&
                     library.find("curl_easy_perform", curl.easy_perform) &&
                     library.find("curl_easy_strerror", curl.easy_strerror) &&
                     library.find("curl_slist_append", curl.slist_append) &&
                     library.find("curl_slist_free_all", curl.slist_free_all);
  if (!whole || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return {};
  return curl;
}

}  // namespace

const CurlLibrary& curl_library() {
  static const CurlLibrary library = load();
  return library;
}

}  // namespace faultline
