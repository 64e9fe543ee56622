# libfaultline_trace.so, which is loaded into other people's processes: what it needs of them is the C library alone, no
# newer than that of RHEL 8, and what it shows them is its C ABI. Never with a sanitizer, whose runtime they do not have.

function(faultline_black_box)
  if(FAULTLINE_FUZZ)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/trace/*.cc")
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  add_library(faultline_trace_shared SHARED ${sources})
  set_target_properties(faultline_trace_shared PROPERTIES
    OUTPUT_NAME faultline_trace
    LINKER_LANGUAGE C  # else libstdc++ comes with it
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(faultline_trace_shared PRIVATE "${CMAKE_SOURCE_DIR}/src")
  target_compile_options(faultline_trace_shared PRIVATE
    -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-asynchronous-unwind-tables -O2)
  target_link_options(faultline_trace_shared PRIVATE -Wl,-z,defs -Wl,-z,noexecstack -Wl,--as-needed)
  target_link_libraries(faultline_trace_shared PRIVATE faultline_flags)
  if(FAULTLINE_SANITIZE)
    target_compile_options(faultline_trace_shared PRIVATE -fno-sanitize=all)
    target_link_options(faultline_trace_shared PRIVATE -fno-sanitize=all)
  endif()
endfunction()
