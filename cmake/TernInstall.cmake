# The shared library that people deploy, made of the folder libraries up to runtime/, and what `cmake --install` puts where.
include(CMakePackageConfigHelpers)

# DT_RPATH rather than DT_RUNPATH: it also serves what our libraries need in turn, so a packed tree works wherever it lies.
set(relocatable "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

add_library(libtern SHARED ${CMAKE_CURRENT_LIST_DIR}/libtern.cpp)
add_library(tern::tern ALIAS libtern)
# The objects of whole folders, since nothing inside the library itself asks for the public functions.
foreach(folder IN ITEMS tern_runtime tern_loader tern_schema tern_dtypes)
  target_sources(libtern PRIVATE $<TARGET_OBJECTS:${folder}>)
  target_link_libraries(libtern PRIVATE ${folder})
endforeach()
target_compile_features(libtern INTERFACE cxx_std_20)
target_include_directories(libtern INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Before 1.0 a minor version may change the interface.
set_target_properties(libtern PROPERTIES OUTPUT_NAME tern EXPORT_NAME tern VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH "${relocatable}")

target_link_options(libtern PRIVATE -Wl,--disable-new-dtags)
# Keeps one copy of functions with the same code: templates over types of one size.
if(TERN_MOLD)
  target_link_options(libtern PRIVATE -Wl,--icf=all)
endif()
if(NOT TERN_SANITIZE)
  target_link_options(libtern PRIVATE -Wl,-z,defs)
endif()

install(TARGETS libtern EXPORT tern_targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tern DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The pages as they lie in the sources, so that their links to each other and to the examples hold.
foreach(page IN ITEMS LICENSE README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md)
  install(FILES ${PROJECT_SOURCE_DIR}/${page} DESTINATION ${CMAKE_INSTALL_DOCDIR})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  PATTERN __pycache__ EXCLUDE)
if(TARGET tern)
  set_target_properties(tern PROPERTIES INSTALL_RPATH "${relocatable}")
  target_link_options(tern PRIVATE -Wl,--disable-new-dtags)
  install(TARGETS tern)
  if(NOT CMAKE_CROSSCOMPILING)
    install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
  endif()
endif()

set(config ${CMAKE_INSTALL_LIBDIR}/cmake/tern)
install(EXPORT tern_targets NAMESPACE tern:: FILE ternTargets.cmake DESTINATION ${config})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ternConfig.cmake.in ternConfig.cmake INSTALL_DESTINATION ${config})
write_basic_package_version_file(ternConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ternConfig.cmake ${PROJECT_BINARY_DIR}/ternConfigVersion.cmake DESTINATION ${config})
# From the folder of the .pc files up to the prefix: an installed or unpacked tree may be moved.
file(RELATIVE_PATH TERN_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" TERN_PC_TO_PREFIX "${TERN_PC_TO_PREFIX}")
foreach(name IN ITEMS tern tern-c)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
