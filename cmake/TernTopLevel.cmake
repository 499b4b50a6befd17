# Choices of the person building: build type, linker, compiler cache, output folders. Applied only if Tern is the
# top-level project.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
find_program(TERN_CCACHE ccache)
if(TERN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Checkouts share cached objects, including checkouts as a subproject. Comments count: `#pragma once` compares a
  # header's bytes with the bytes in the precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_COMMENTS=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${TERN_CCACHE})
endif()
include(CheckLinkerFlag)
find_program(TERN_MOLD mold)
check_linker_flag(CXX -fuse-ld=mold TERN_LINKS_WITH_MOLD)  # cross compilers have their own linkers
if(TERN_MOLD AND TERN_LINKS_WITH_MOLD AND NOT WIN32)
  add_link_options(-fuse-ld=mold)
else()
  set(TERN_MOLD "")
endif()
