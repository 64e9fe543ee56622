# Flags that hold for all of our own code. They are collected in the interface target faultline_flags;
# generated code and the examples do not link it, which is how they are exempt.

# Debug information and __FILE__ name files relative to the tree: builds in two folders are then equal, and share
# ccache's entries.
add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")

find_program(FAULTLINE_CCACHE ccache)
if(FAULTLINE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${FAULTLINE_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${FAULTLINE_CCACHE}")
endif()

add_library(faultline_flags INTERFACE)
target_compile_options(faultline_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wnon-virtual-dtor -Woverloaded-virtual -Werror=switch)
if(FAULTLINE_WERROR)
  target_compile_options(faultline_flags INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports std::string's own concatenation under -Wrestrict (GCC bug 105651).
  target_compile_options(faultline_flags INTERFACE -Wno-restrict)
  if(FAULTLINE_SANITIZE)
    # The sanitizers' extra branches make this warning guess; the release build keeps it.
    target_compile_options(faultline_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

# Everything is instrumented alike, generated code too: mixing breaks container annotations.
if(FAULTLINE_SANITIZE)
  add_compile_options("-fsanitize=${FAULTLINE_SANITIZE}" -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${FAULTLINE_SANITIZE}")
else()
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_compile_options(-fstack-protector-strong)
  add_link_options(-Wl,-z,relro -Wl,-z,now)
endif()
if(FAULTLINE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

set(FAULTLINE_GENERATED_DIR "${CMAKE_BINARY_DIR}/generated")
