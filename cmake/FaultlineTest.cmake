# Tests: one executable per folder, each of its cases a test of its own in ctest.
#
# But of those named here, which touch nothing outside themselves and are so many that starting a process for each takes
# several times as long as they do. ctest sees each as a few shares; googletest names the case that fails, and `./dev`
# counts the cases.
set(FAULTLINE_TESTS_IN_SHARES faultline_cases_test faultline_ingest_test faultline_detect_test)
set(FAULTLINE_TEST_SHARES 4)

set(FAULTLINE_TEST_TIMEOUT_S 120)
set(FAULTLINE_SHARE_TIMEOUT_S 600)
if(FAULTLINE_SANITIZE MATCHES "thread")  # every access is looked at: ten times as slow
  set(FAULTLINE_TEST_TIMEOUT_S 600)
  set(FAULTLINE_SHARE_TIMEOUT_S 3000)
endif()

# With -fno-sanitize-recover a finding ends the test; this adds where it came from. One variable alone, since
# gtest_discover_tests takes no list here.
if(FAULTLINE_SANITIZE MATCHES "thread")
  set(FAULTLINE_TEST_ENVIRONMENT "TSAN_OPTIONS=second_deadlock_stack=1")
else()
  set(FAULTLINE_TEST_ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1")
endif()

# A mock dereferences a pointer in each template it is made of: checking every one of them doubles the time that a test
# takes to compile, and says nothing of the code under test, which keeps all of its checks.
if(FAULTLINE_SANITIZE MATCHES "undefined")
  set(FAULTLINE_LIGHT_SANITIZE_OPTIONS "-fno-sanitize=null,alignment,object-size,vptr")
endif()

# The cases of an executable, dealt out to a few processes.
function(faultline_test_shares name)
  math(EXPR last "${FAULTLINE_TEST_SHARES} - 1")
  foreach(share RANGE ${last})
    add_test(NAME ${name}.${share} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    set_tests_properties(${name}.${share} PROPERTIES TIMEOUT ${FAULTLINE_SHARE_TIMEOUT_S} COST 100 ENVIRONMENT
      "${FAULTLINE_TEST_ENVIRONMENT};GTEST_TOTAL_SHARDS=${FAULTLINE_TEST_SHARES};GTEST_SHARD_INDEX=${share}")
  endforeach()
endfunction()

# faultline_test(NAME SOURCES file... LIBS library...)
function(faultline_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE faultline_flags ${arg_LIBS} GTest::gmock_main)
  target_compile_options(${name} PRIVATE ${FAULTLINE_LIGHT_SANITIZE_OPTIONS})
  faultline_precompiled(${name} test)
  target_compile_definitions(${name} PRIVATE
    FAULTLINE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    FAULTLINE_SOURCE_CATALOG_DIR="${CMAKE_SOURCE_DIR}/catalog")
  if(name IN_LIST FAULTLINE_TESTS_IN_SHARES)
    faultline_test_shares(${name})
    return()
  endif()
  # The cases are listed when ctest runs, not after each link: a build does not execute what it builds.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    PROPERTIES TIMEOUT ${FAULTLINE_TEST_TIMEOUT_S} ENVIRONMENT "${FAULTLINE_TEST_ENVIRONMENT}")
endfunction()

# The *_test.cc beside the code of src/FOLDER, linked with its library.
function(faultline_unit_test folder library)
  if(NOT FAULTLINE_TESTS)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${folder}/*_test.cc")
  if(sources)
    faultline_test(${library}_test SOURCES ${sources} LIBS ${library})
  endif()
endfunction()

if(NOT FAULTLINE_FUZZ)
  include(GoogleTest)
endif()
