# Compiler flags of all targets.
add_library(tern_options INTERFACE)
target_compile_options(tern_options INTERFACE
  -Wall -Wextra $<$<BOOL:${TERN_WERROR}>:-Werror> -Wno-unused-parameter -Wno-missing-field-initializers
  # No contraction: the same bits whatever the instruction set.
  -ffp-contract=off -fno-math-errno
  # clang warns about loops it cannot vectorise despite a pragma: calls of the C library, sanitizer checks.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>
  # Lets the linker drop unused functions.
  -ffunction-sections -fdata-sections)
target_link_options(tern_options INTERFACE -Wl,--gc-sections)
# GCC collects its garbage from 400 MB on: a unit takes a seventh less time and at most 900 MB, and objects keep their bytes.
target_compile_options(tern_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=400000>)
# -O3 makes the library larger; what gains by it says so itself (kernels/CMakeLists.txt).
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  target_compile_options(tern_options INTERFACE -g1)
endif()
# GCC 13 and later often issue false warnings about the standard library (GCC bug 105651): these warnings are not
# errors. Targets with a precompiled standard library header disable them.
set(TERN_GUESSES restrict free-nonheap-object array-bounds stringop-overflow stringop-overread maybe-uninitialized)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  foreach(guess IN LISTS TERN_GUESSES)
    target_compile_options(tern_options INTERFACE -Wno-error=${guess})
  endforeach()
endif()
target_include_directories(tern_options INTERFACE ${PROJECT_SOURCE_DIR} ${TERN_GENERATED})
target_include_directories(tern_options SYSTEM INTERFACE)
# The build type of the sanitize, tsan and fuzz presets: fast enough to run the whole suite, lines in the reports. The
# last option counts: the -O2 and -O3 of loops would take GCC seven times as long, for checks inside unrolled vectors.
set(CMAKE_CXX_FLAGS_SANITIZE "-g1")
set(CMAKE_C_FLAGS_SANITIZE "-Og -g1")
if(CMAKE_BUILD_TYPE STREQUAL "Sanitize")
  string(REPLACE "<FLAGS>" "<FLAGS> -Og" CMAKE_CXX_COMPILE_OBJECT "${CMAKE_CXX_COMPILE_OBJECT}")
endif()
if(TERN_SANITIZE)
  target_compile_options(tern_options INTERFACE -fsanitize=${TERN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tern_options INTERFACE -fsanitize=${TERN_SANITIZE})
endif()

include(cmake/TernUnite.cmake)
include(cmake/TernWindows.cmake)

# Defines the library of one folder: its CMakeLists.txt includes the list `sources` from sources.cmake, written by ./dev
# sources.
function(tern_folder_library name)
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC tern_options ${ARGN})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  if(WIN32)
    target_compile_definitions(${name} PRIVATE TERN_EXPORTS)  # tern/api.h
  endif()
  tern_unite(${name})
endfunction()

# tern_matching(VARIABLE REGEX...): lists the files of `sources` whose whole path matches a regular expression.
function(tern_matching variable)
  set(all "")
  foreach(regex IN LISTS ARGN)
    set(matching ${sources})
    list(FILTER matching INCLUDE REGEX "^(${regex})$")
    if(NOT matching)
      message(FATAL_ERROR "No source of ${CMAKE_CURRENT_SOURCE_DIR} matches ${regex}")
    endif()
    list(APPEND all ${matching})
  endforeach()
  list(REMOVE_DUPLICATES all)
  set(${variable} ${all} PARENT_SCOPE)
endfunction()

# tern_small(REGEX...): compiles matching files of the current folder for size.
function(tern_small)
  tern_matching(small ${ARGN})
  set_property(SOURCE ${small} APPEND PROPERTY COMPILE_OPTIONS $<$<NOT:$<CONFIG:Debug>>:-Os>)
endfunction()

# tern_precompile(TARGET HEADER...): precompiles headers included by most files of a target, plus the headers common to
# all folders. Files with their own flags do not use the result. Race and fuzzing builds (clang, `./dev test --full`)
# and subproject builds skip precompilation: there, a missing include fails.
set(TERN_COMMON_HEADERS <algorithm> <cmath> <cstring> <map> <optional> <span> <string> <vector> <fmt/format.h>)
function(tern_precompile target)
  if((TERN_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang") OR NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${TERN_COMMON_HEADERS} ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(TRANSFORM TERN_GUESSES PREPEND -Wno- OUTPUT_VARIABLE guesses)
    target_compile_options(${target} PRIVATE ${guesses})
  endif()
  get_target_property(files ${target} SOURCES)
  foreach(file IN LISTS files)
    get_source_file_property(own ${file} COMPILE_OPTIONS)
    if(own)
      set_source_files_properties(${file} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()
