# One static library per folder of src. What a library links is read from tools/dependencies.txt, the same table that
# tools/tidy holds its #include lines to: there is no second list to forget.

set(FAULTLINE_DEPENDENCY_TABLE "${CMAKE_SOURCE_DIR}/tools/dependencies.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${FAULTLINE_DEPENDENCY_TABLE}")

# adapters/slurm -> faultline_adapter_slurm, base -> faultline_base
function(faultline_target_of folder out)
  string(REGEX REPLACE "^adapters/" "adapter_" name "${folder}")
  set(${out} "faultline_${name}" PARENT_SCOPE)
endfunction()

# The folders that `folder` may include, by its own line of the table or else by that of the folder above it.
function(faultline_allowed_folders folder out)
  file(STRINGS "${FAULTLINE_DEPENDENCY_TABLE}" lines REGEX "^[a-z]")
  get_filename_component(parent "${folder}" DIRECTORY)
  foreach(key IN ITEMS "${folder}" "${parent}")
    foreach(line IN LISTS lines)
      if(line MATCHES "^([a-z0-9_/]+):([^#]*)" AND CMAKE_MATCH_1 STREQUAL key)
        separate_arguments(allowed UNIX_COMMAND "${CMAKE_MATCH_2}")
        set(${out} "${allowed}" PARENT_SCOPE)
        return()
      endif()
    endforeach()
  endforeach()
  message(FATAL_ERROR "src/${folder} has no line in tools/dependencies.txt: say what it may include")
endfunction()

# "adapters" in the table means every adapter; its members are known only after src has been listed.
function(faultline_targets_of_folders folders out)
  set(targets)
  foreach(folder IN LISTS folders)
    if(folder STREQUAL "adapters")
      list(APPEND targets faultline_adapters)
    else()
      faultline_target_of("${folder}" target)
      list(APPEND targets "${target}")
    endif()
  endforeach()
  set(${out} "${targets}" PARENT_SCOPE)
endfunction()

# faultline_library(NAME FOLDER folder-below-src [LIBS external...] [EXCLUDE file...])
#
# Every *.cc of the folder but tests and benches; a folder without any, or not there at all, makes an interface
# library, so that headers alone are fine and a module can be listed before it is written.
function(faultline_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FOLDER" "LIBS;EXCLUDE")
  set(directory "${CMAKE_SOURCE_DIR}/src/${arg_FOLDER}")
  file(GLOB sources CONFIGURE_DEPENDS "${directory}/*.cc")
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  foreach(file IN LISTS arg_EXCLUDE)
    list(REMOVE_ITEM sources "${directory}/${file}")
  endforeach()

  faultline_allowed_folders("${arg_FOLDER}" folders)
  faultline_targets_of_folders("${folders}" dependencies)
  if(sources)
    add_library(${name} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(${name} PRIVATE faultline_flags)
    faultline_precompiled(${name} library)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} "${CMAKE_SOURCE_DIR}/src" "${FAULTLINE_GENERATED_DIR}")
  target_link_libraries(${name} ${scope} ${dependencies} ${arg_LIBS})
  faultline_unit_test("${arg_FOLDER}" ${name})
endfunction()
