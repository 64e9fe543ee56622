// libcurl, loaded when the first webhook is configured. One program serves every verb, and libcurl
// brings some forty libraries with it: linked, they would cost each node's agent megabytes of
// memory for something that it never does.
#pragma once

#include <curl/curl.h>

namespace faultline {

/// The functions of libcurl that we use; all null if it is not installed. The types are libcurl's
/// own.
struct CurlLibrary {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_perform) easy_perform = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;

  [[nodiscard]] bool loaded() const { return global_init != nullptr; }
};

/// Loads it at the first call; stays loaded. Thread-safe.
const CurlLibrary& curl_library();

}  // namespace faultline
