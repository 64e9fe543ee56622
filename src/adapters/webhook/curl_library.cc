#include "adapters/webhook/curl_library.h"

#include <dlfcn.h>

namespace faultline {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

CurlLibrary load() {
  CurlLibrary curl;
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);  // its ABI since 2006
  if (library == nullptr) return curl;
  const bool whole = find(library, "curl_global_init", curl.global_init) &&
                     find(library, "curl_easy_init", curl.easy_init) &&
                     find(library, "curl_easy_cleanup", curl.easy_cleanup) &&
                     find(library, "curl_easy_setopt", curl.easy_setopt) &&
                     find(library, "curl_easy_getinfo", curl.easy_getinfo) &&
                     find(library, "curl_easy_perform", curl.easy_perform) &&
                     find(library, "curl_easy_strerror", curl.easy_strerror) &&
                     find(library, "curl_slist_append", curl.slist_append) &&
                     find(library, "curl_slist_free_all", curl.slist_free_all);
  if (!whole || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return {};
  return curl;
}

}  // namespace

const CurlLibrary& curl_library() {
  static const CurlLibrary library = load();
  return library;
}

}  // namespace faultline
