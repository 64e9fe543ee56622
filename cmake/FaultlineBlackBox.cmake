# What is loaded into other people's processes: the black box, and what writes it. All that they need there is the C
# library, no newer than that of RHEL 8, and libfaultline_trace.so beside them; what they show is their C ABI. Never with a
# sanitizer, whose runtime those processes do not have, and never unloaded, since somebody may still call.

# faultline_loadable(TARGET NAME file-name FOLDER folder-below-src [LIBS ...])
function(faultline_loadable target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;FOLDER" "LIBS")
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${arg_FOLDER}/*.cc")
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  add_library(${target} SHARED ${sources})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${arg_NAME}
    LINKER_LANGUAGE C  # else libstdc++ comes with it
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    BUILD_RPATH "$ORIGIN"
    INSTALL_RPATH "$ORIGIN")
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/src")
  target_compile_options(${target} PRIVATE
    -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-asynchronous-unwind-tables -O2)
  target_link_options(${target} PRIVATE -Wl,-z,defs -Wl,-z,noexecstack -Wl,-z,nodelete -Wl,--as-needed)
  target_link_libraries(${target} PRIVATE faultline_flags ${arg_LIBS})
  if(FAULTLINE_SANITIZE)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
    target_link_options(${target} PRIVATE -fno-sanitize=all)
  endif()
  set_property(GLOBAL APPEND PROPERTY FAULTLINE_LOADABLES ${target})
endfunction()

function(faultline_black_box)
  if(FAULTLINE_FUZZ)
    return()
  endif()
  faultline_loadable(faultline_trace_shared NAME faultline_trace FOLDER trace)
  # libdl is a part of libc in a new glibc and has to be named for an old one.
  faultline_loadable(faultline_nccl_profiler NAME nccl-profiler-faultline FOLDER trace/nccl
    LIBS faultline_trace_shared -Wl,--push-state,--no-as-needed -l:libdl.so.2 -Wl,--pop-state)
  # Each MPI has an ABI of its own: a library is compiled for each that is installed. It takes MPI's functions from the
  # program that loads it.
  foreach(mpi IN ITEMS openmpi mpich)
    find_path(FAULTLINE_MPI_INCLUDE_${mpi} mpi.h NO_DEFAULT_PATH PATHS
      /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${mpi}/include /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/${mpi})
    if(FAULTLINE_MPI_INCLUDE_${mpi})
      faultline_loadable(faultline_mpi_${mpi} NAME faultline-${mpi} FOLDER trace/mpi LIBS faultline_trace_shared)
      target_include_directories(faultline_mpi_${mpi} SYSTEM PRIVATE "${FAULTLINE_MPI_INCLUDE_${mpi}}")
      target_compile_definitions(faultline_mpi_${mpi} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
      target_link_options(faultline_mpi_${mpi} PRIVATE -Wl,-z,undefs)
    endif()
  endforeach()
endfunction()
