# Libraries required by the project, all packaged in Debian 12 and Ubuntu 24.04. Programs linking the static library
# need the GLOBAL libraries as well, including projects with Tern as a subproject.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED GLOBAL COMPONENTS CXX)
find_package(fmt REQUIRED GLOBAL)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET GLOBAL libzstd)
include(${CMAKE_CURRENT_LIST_DIR}/TernOptional.cmake)
find_program(FLATC flatc REQUIRED)
if(TERN_BUILD_EXPORTER OR TERN_BUILD_EXAMPLES)
  find_package(nlohmann_json REQUIRED)
endif()
if(TERN_BUILD_EXPORTER)
  find_package(CLI11 REQUIRED)
  pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
  find_package(ZLIB REQUIRED)  # CRC-32; installed with libzip
  find_package(Threads REQUIRED)
  pkg_check_modules(httplib QUIET IMPORTED_TARGET cpp-httplib)  # the server of `tern view`
  set(HTTPLIB_FOUND ${httplib_FOUND})
  tern_optional(HTTPLIB cpp-httplib libcpp-httplib-dev HTTPLIB_FOUND httplib_LINK_LIBRARIES)
endif()
if(TERN_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
