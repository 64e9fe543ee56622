# What is installed, and the .deb and .tar.gz made of it. Both hold the same tree; the libraries they need are Debian
# 12's, which the .deb names and the archive takes for granted.

set(packaging "${CMAKE_SOURCE_DIR}/packaging")

if(TARGET faultline)
  install(TARGETS faultline RUNTIME DESTINATION bin)
endif()
get_property(loadables GLOBAL PROPERTY FAULTLINE_LOADABLES)
if(loadables)
  # In a folder of their own: they are named by whoever loads them, and nothing links them.
  install(TARGETS ${loadables} LIBRARY DESTINATION lib/faultline)
  install(FILES "${CMAKE_SOURCE_DIR}/src/trace/faultline_trace.h" DESTINATION include)
endif()
install(DIRECTORY "${CMAKE_SOURCE_DIR}/catalog/" DESTINATION share/faultline/catalog
        FILES_MATCHING PATTERN "*.toml")
install(FILES "${packaging}/systemd/faultline-agent.service" "${packaging}/systemd/faultline-serve.service"
        DESTINATION lib/systemd/system)
install(FILES "${packaging}/systemd/faultline.sysusers" DESTINATION lib/sysusers.d RENAME faultline.conf)
install(FILES "${packaging}/completion/faultline.bash" DESTINATION share/bash-completion/completions RENAME faultline)
install(FILES "${packaging}/config/agent.toml" "${packaging}/config/serve.toml" DESTINATION /etc/faultline)
install(FILES "${packaging}/deb/copyright" "${CMAKE_SOURCE_DIR}/docs/diagnosis.schema.json"
        DESTINATION share/doc/faultline)

find_program(FAULTLINE_GZIP gzip REQUIRED)
set(manual "${CMAKE_BINARY_DIR}/faultline.1.gz")
add_custom_command(
  OUTPUT "${manual}"
  COMMAND "${FAULTLINE_GZIP}" -9nc "${packaging}/man/faultline.1" > "${manual}"
  DEPENDS "${packaging}/man/faultline.1"
  VERBATIM)
add_custom_target(faultline_manual ALL DEPENDS "${manual}")
install(FILES "${manual}" DESTINATION share/man/man1)

if(TARGET faultline AND FAULTLINE_TESTS)
  add_test(NAME packaging COMMAND "${packaging}/test" $<TARGET_FILE:faultline>)
  add_test(NAME reference COMMAND "${CMAKE_SOURCE_DIR}/tools/reference" --check $<TARGET_FILE:faultline>)
endif()

set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_OUTPUT_FILE_PREFIX "${CMAKE_SOURCE_DIR}/build/package")
set(CPACK_SET_DESTDIR ON)  # /etc lies outside the prefix
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_NAME "faultline")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_VENDOR "faultline")
set(CPACK_PACKAGE_CONTACT "faultline maintainers <maintainers@faultline.invalid>")
set(CPACK_PACKAGE_FILE_NAME "faultline-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_SOURCE_DIR}/LICENSE")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Loaded at run time, for archives, webhooks and the journal, so that shlibdeps cannot see it.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libarchive13, libcurl4, libsystemd0")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "slurm-client, python3-torch")
set(CPACK_PACKAGE_DESCRIPTION "\
In synchronous training every fault looks like the same NCCL error on every
rank. faultline finds the node, GPU or link behind it, says why with the
evidence, takes it out of the training path by the scheduler's own means, and
brings the job back from its last valid checkpoint.

This package holds the one program, the catalog of causes and signatures, and
the services of the agent (on the nodes) and the controller (on one host).
Neither is started by the installation.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  "${packaging}/deb/conffiles" "${packaging}/deb/postinst" "${packaging}/deb/prerm" "${packaging}/deb/postrm")
include(CPack)
