# What belongs to whoever builds: the build type, the linker, the cache of objects, where programs land. It is set only
# where Tern is the project that is built, never where another project takes it in.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
find_program(TERN_CCACHE ccache)
if(TERN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Objects of one checkout serve another, and a project that takes this one in. Comments count: `#pragma once` compares the
  # bytes of a header with those that the precompiled header was made of.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_COMMENTS=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${TERN_CCACHE})
endif()
include(CheckLinkerFlag)
find_program(TERN_MOLD mold)
check_linker_flag(CXX -fuse-ld=mold TERN_LINKS_WITH_MOLD)  # a cross compiler looks for a linker of its own
if(TERN_MOLD AND TERN_LINKS_WITH_MOLD)
  add_link_options(-fuse-ld=mold)
else()
  set(TERN_MOLD "")
endif()
