# What `cmake --install` puts where.
include(CMakePackageConfigHelpers)

if(TERN_SHARED)
  install(TARGETS libtern EXPORT tern_targets)
endif()
install(TARGETS tern_static EXPORT tern_static_targets ARCHIVE OPTIONAL)  # `./dev build libtern` does not make it
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The pages as they lie in the sources, so that their links to each other and to the examples hold.
foreach(page IN ITEMS LICENSE README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md)
  install(FILES ${PROJECT_SOURCE_DIR}/${page} DESTINATION ${CMAKE_INSTALL_DOCDIR})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  PATTERN __pycache__ EXCLUDE)
if(TARGET tern)
  install(TARGETS tern)
  if(TARGET tern_view_server)
    install(TARGETS tern_view_server LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tern)
  endif()
  if(NOT CMAKE_CROSSCOMPILING)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
  endif()
endif()

set(config ${CMAKE_INSTALL_LIBDIR}/cmake/tern)
if(TERN_SHARED)
  install(EXPORT tern_targets NAMESPACE tern:: FILE ternTargets.cmake DESTINATION ${config})
endif()
install(EXPORT tern_static_targets NAMESPACE tern:: FILE ternStaticTargets.cmake DESTINATION ${config})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ternConfig.cmake.in ternConfig.cmake INSTALL_DESTINATION ${config}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(ternConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ternConfig.cmake ${PROJECT_BINARY_DIR}/ternConfigVersion.cmake DESTINATION ${config})
# From the folder of the .pc files up to the prefix: an installed or unpacked tree may be moved.
file(RELATIVE_PATH TERN_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" TERN_PC_TO_PREFIX "${TERN_PC_TO_PREFIX}")
list(TRANSFORM TERN_STATIC_LIBRARIES PREPEND -l OUTPUT_VARIABLE TERN_PC_PRIVATE)
list(JOIN TERN_PC_PRIVATE " " TERN_PC_PRIVATE)
# The run path lets a program start wherever the library lies: in an unpacked tarball, below a home folder. Where the
# library is in the system's folders (debian/rules), programs need none.
set(TERN_PC_RPATH "-Wl,-rpath,\${libdir} ")
if(CMAKE_SKIP_RPATH OR CMAKE_SKIP_INSTALL_RPATH)
  set(TERN_PC_RPATH "")
endif()
foreach(name IN ITEMS tern tern-c)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
