# Precompiled headers: a third of what a file takes to compile is the standard library's own headers, a fifth of what a
# test takes is googletest's. Only in builds for tests and in the one that somebody waits for, `./dev diagnose`: what is
# shipped is compiled without, so a file that forgot an #include still fails there. GCC refuses a header that was made
# with other flags, and -Winvalid-pch makes that an error.
#
# faultline_precompiled(TARGET library|test)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND (FAULTLINE_TESTS OR FAULTLINE_DIAGNOSE_ONLY))
  set(FAULTLINE_PRECOMPILED ON)
else()
  set(FAULTLINE_PRECOMPILED OFF)
endif()

set(faultline_precompiled_headers
  <algorithm> <array> <chrono> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <string>
  <string_view> <utility> <variant> <vector>)

if(FAULTLINE_PRECOMPILED)
  # Some libraries ask for it and some do not; one header serves both only if all are compiled alike.
  add_compile_options(-pthread)
  set(nothing "${CMAKE_BINARY_DIR}/precompiled/nothing.cc")
  file(CONFIGURE OUTPUT "${nothing}" CONTENT "// Carries the precompiled headers.\n")

  add_library(faultline_precompiled_library OBJECT "${nothing}")
  target_link_libraries(faultline_precompiled_library PRIVATE faultline_flags)
  target_precompile_headers(faultline_precompiled_library PRIVATE ${faultline_precompiled_headers})
endif()

if(FAULTLINE_PRECOMPILED AND FAULTLINE_TESTS)
  # Flags of a program, not of a library: position-independent for an executable alone.
  add_library(faultline_precompiled_test OBJECT "${nothing}")
  set_target_properties(faultline_precompiled_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(faultline_precompiled_test PRIVATE -fPIE ${FAULTLINE_LIGHT_SANITIZE_OPTIONS})
  target_link_libraries(faultline_precompiled_test PRIVATE faultline_flags GTest::gtest)
  target_precompile_headers(faultline_precompiled_test PRIVATE <gtest/gtest.h> ${faultline_precompiled_headers})
endif()

function(faultline_precompiled target kind)
  if(FAULTLINE_PRECOMPILED)
    target_compile_options(${target} PRIVATE -Winvalid-pch)
    target_precompile_headers(${target} REUSE_FROM faultline_precompiled_${kind})
  endif()
endfunction()
