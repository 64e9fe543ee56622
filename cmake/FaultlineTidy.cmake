# tools/tidy as tests, and its include rule as part of every build: a forbidden arrow between folders does not compile.

# The system's own first: another may stand earlier in PATH, and packages/apt.txt does not speak of that one.
find_program(FAULTLINE_PYTHON python3 HINTS /usr/bin REQUIRED)
set(FAULTLINE_TIDY "${CMAKE_SOURCE_DIR}/tools/tidy")

file(GLOB_RECURSE tidied CONFIGURE_DEPENDS
  "${CMAKE_SOURCE_DIR}/src/*.cc" "${CMAKE_SOURCE_DIR}/src/*.h")
set(stamp "${CMAKE_BINARY_DIR}/tidy_includes.stamp")
add_custom_command(
  OUTPUT "${stamp}"
  COMMAND "${FAULTLINE_PYTHON}" "${FAULTLINE_TIDY}" --quiet --only includes
  COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
  DEPENDS "${FAULTLINE_TIDY}" "${FAULTLINE_DEPENDENCY_TABLE}" ${tidied}
  COMMENT "tidy: who includes whom"
  VERBATIM)
add_custom_target(tidy_includes ALL DEPENDS "${stamp}")

if(NOT FAULTLINE_FUZZ)
  add_test(NAME tidy COMMAND "${FAULTLINE_PYTHON}" "${FAULTLINE_TIDY}")
  add_test(NAME tidy_self_test COMMAND "${FAULTLINE_PYTHON}" "${FAULTLINE_TIDY}" --self-test)
  get_property(loadables GLOBAL PROPERTY FAULTLINE_LOADABLES)
  foreach(loadable IN LISTS loadables)
    add_test(NAME tidy_library.${loadable} COMMAND "${FAULTLINE_PYTHON}" "${FAULTLINE_TIDY}" --library
      $<TARGET_FILE:${loadable}>)
  endforeach()
  # ./dev runs tidy by itself to count its rules, and leaves this one out by its label.
  set_tests_properties(tidy PROPERTIES LABELS tidy)
endif()
