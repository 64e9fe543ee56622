# src/wire/*.proto -> faultline_proto, and with gRPC the service stubs -> faultline_proto_grpc. Generated code lies in
# the build folder, is included as "wire/x.pb.h" and is compiled without our warnings.

# Appends to `out_sources` the pair that protoc makes of one file: kind is "pb" for messages, "grpc.pb" for stubs.
function(faultline_generate out_sources kind proto)
  get_filename_component(stem "${proto}" NAME_WE)
  set(base "${FAULTLINE_GENERATED_DIR}/wire/${stem}.${kind}")
  if(kind STREQUAL "pb")
    set(how "--cpp_out=${FAULTLINE_GENERATED_DIR}")
  else()
    set(how "--grpc_out=${FAULTLINE_GENERATED_DIR}" "--plugin=protoc-gen-grpc=${FAULTLINE_GRPC_PLUGIN}")
  endif()
  add_custom_command(
    OUTPUT "${base}.cc" "${base}.h"
    COMMAND protobuf::protoc "-I${CMAKE_SOURCE_DIR}/src" ${how} "${proto}"
    # On all of them, since one may import another.
    DEPENDS ${FAULTLINE_PROTOS}
    COMMENT "protoc wire/${stem}.${kind}"
    VERBATIM)
  set(${out_sources} ${${out_sources}} "${base}.cc" "${base}.h" PARENT_SCOPE)
endfunction()

function(faultline_generated_library name sources)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_compile_options(${name} PRIVATE -w)
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} SYSTEM ${scope} "${FAULTLINE_GENERATED_DIR}")
  target_link_libraries(${name} ${scope} protobuf::libprotobuf ${ARGN})
endfunction()

function(faultline_proto)
  file(MAKE_DIRECTORY "${FAULTLINE_GENERATED_DIR}/wire")
  file(GLOB FAULTLINE_PROTOS CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/wire/*.proto")
  set(messages)
  set(stubs)
  foreach(proto IN LISTS FAULTLINE_PROTOS)
    faultline_generate(messages "pb" "${proto}")
    # Only a file with a service gets stubs; protoc would make an empty pair of the others.
    file(STRINGS "${proto}" services REGEX "^service ")
    if(FAULTLINE_GRPC AND services)
      faultline_generate(stubs "grpc.pb" "${proto}")
    endif()
  endforeach()
  faultline_generated_library(faultline_proto "${messages}")
  if(FAULTLINE_GRPC)
    faultline_generated_library(faultline_proto_grpc "${stubs}" faultline_proto PkgConfig::grpc)
  endif()
  # For clang-tidy, which reads the headers and needs nothing compiled.
  add_custom_target(faultline_generated DEPENDS ${messages} ${stubs})
endfunction()
