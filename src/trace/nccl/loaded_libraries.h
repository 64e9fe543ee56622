// Libraries by their names, and what is in them. The linker's functions moved from libdl to libc
// with glibc 2.34: bound here by the version that both have.
#pragma once

#include <dlfcn.h>

namespace faultline::trace::nccl {

#if defined(__x86_64__)
#define FAULTLINE_OLD_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FAULTLINE_OLD_GLIBC "GLIBC_2.17"
#endif
#ifdef FAULTLINE_OLD_GLIBC
extern "C" {
void* faultline_dlopen(const char* name, int flags);
void* faultline_dlsym(void* library, const char* name);
}
asm(".symver faultline_dlopen, dlopen@" FAULTLINE_OLD_GLIBC);
asm(".symver faultline_dlsym, dlsym@" FAULTLINE_OLD_GLIBC);
#else
inline void* faultline_dlopen(const char* name, int flags) { return ::dlopen(name, flags); }
inline void* faultline_dlsym(void* library, const char* name) { return ::dlsym(library, name); }
#endif

/// Null if the process has not loaded it.
inline void* find_loaded(const char* name) {
  return faultline_dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

template <class Function>
Function find_function(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function>(faultline_dlsym(library, name));
}

}  // namespace faultline::trace::nccl
