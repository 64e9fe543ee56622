// A shared library that is loaded when it is needed: one that every process linked would cost each
// agent memory, and one that a node need not have (NVML) must not be needed to start.
#pragma once

#include <dlfcn.h>

#include <string>

namespace faultline {

/// Never unloaded: what was found in it is called until the process ends.
class DynamicLibrary {
 public:
  explicit DynamicLibrary(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    const char* why = ::dlerror();
    error_ = why != nullptr ? why : std::string("no ") + name;
  }

  [[nodiscard]] bool loaded() const { return handle_ != nullptr; }
  [[nodiscard]] const std::string& error() const { return error_; }  // empty if loaded

  /// Sets `function` to the symbol, or to its `older` name, or to null; true if there is one. The
  /// caller vouches for the type.
  template <class Function>
  bool find(const char* name, Function& function, const char* older = nullptr) const {
    void* symbol = ::dlsym(handle_, name);
    if (symbol == nullptr && older != nullptr) symbol = ::dlsym(handle_, older);
    function = reinterpret_cast<Function>(symbol);
    return symbol != nullptr;
  }

 private:
  void* handle_;
  std::string error_;
};

}  // namespace faultline
