# Rules of `cmake --install`. Installs the targets built so far, and lists the missing targets at the end.
include(CMakePackageConfigHelpers)

if(TERN_SHARED)
  install(TARGETS libtern EXPORT tern_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
endif()
if(TARGET libtern_text)
  install(TARGETS libtern_text EXPORT tern_text_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
endif()
if(TERN_CROSS_FOLDER)  # programs that link the static library find the others beside it
  foreach(name IN ITEMS fmt xxhash zstd)
    install(FILES ${TERN_CROSS_FOLDER}/prefix/lib/${CMAKE_STATIC_LIBRARY_PREFIX}${name}${CMAKE_STATIC_LIBRARY_SUFFIX}
      DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endforeach()
endif()
install(TARGETS tern_static EXPORT tern_static_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Installs the pages in the layout of the sources, to keep their links valid.
foreach(page IN ITEMS LICENSE README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md)
  install(FILES ${PROJECT_SOURCE_DIR}/${page} DESTINATION ${CMAKE_INSTALL_DOCDIR})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  PATTERN __pycache__ EXCLUDE)
if(TARGET tern)
  install(TARGETS tern RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} OPTIONAL)
  install(TARGETS tern_kernel_compiler RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/tern OPTIONAL)
  if(TARGET tern_http_server)
    install(TARGETS tern_http_server LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tern OPTIONAL)
  endif()
  if(NOT CMAKE_CROSSCOMPILING)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} OPTIONAL)
  endif()
endif()

set(config ${CMAKE_INSTALL_LIBDIR}/cmake/tern)
if(TERN_SHARED)
  install(EXPORT tern_targets NAMESPACE tern:: FILE ternTargets.cmake DESTINATION ${config})
endif()
if(TARGET libtern_text)
  install(EXPORT tern_text_targets NAMESPACE tern:: FILE ternTextTargets.cmake DESTINATION ${config})
endif()
install(EXPORT tern_static_targets NAMESPACE tern:: FILE ternStaticTargets.cmake DESTINATION ${config})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ternConfig.cmake.in ternConfig.cmake INSTALL_DESTINATION ${config}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(ternConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ternConfig.cmake ${PROJECT_BINARY_DIR}/ternConfigVersion.cmake DESTINATION ${config})
# Relative path from the .pc files to the prefix: installed or unpacked trees may be moved.
file(RELATIVE_PATH TERN_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" TERN_PC_TO_PREFIX "${TERN_PC_TO_PREFIX}")
list(TRANSFORM TERN_STATIC_LIBRARIES PREPEND -l OUTPUT_VARIABLE TERN_PC_PRIVATE)
list(JOIN TERN_PC_PRIVATE " " TERN_PC_PRIVATE)
# The run path lets programs start with a library in any folder: an unpacked tarball, a home folder. Libraries in system
# folders (debian/rules) need no run path.
set(TERN_PC_RPATH "-Wl,-rpath,\${libdir} ")
if(CMAKE_SKIP_RPATH OR CMAKE_SKIP_INSTALL_RPATH)
  set(TERN_PC_RPATH "")
endif()
set(pkg_config_files tern tern-c)
if(TARGET libtern_text)
  list(APPEND pkg_config_files tern-text)
endif()
foreach(name IN LISTS pkg_config_files)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

get_property(plugins GLOBAL PROPERTY TERN_INSTALLED_PLUGINS)  # plugins and engines
set(code "")
foreach(target IN LISTS plugins ITEMS libtern libtern_text tern_static tern tern_kernel_compiler tern_http_server)
  if(TARGET ${target})
    string(APPEND code "if(NOT EXISTS \"$<TARGET_FILE:${target}>\")\n  list(APPEND left_out ${target})\nendif()\n")
  endif()
endforeach()
install(CODE "set(left_out)
${code}
if(left_out)
  list(JOIN left_out \", \" left_out)
  message(STATUS \"Left out, since they were not built: \${left_out}. './dev build' or 'ninja' builds all of them.\")
endif()")
