# Loops that are compiled once for each instruction set. dtypes/cpu_levels.cmake lists the levels.
set(TERN_CPU_LEVEL_NAMES "")
function(tern_cpu_level name base kinds)
  list(APPEND TERN_CPU_LEVEL_NAMES ${name})
  set(TERN_CPU_LEVEL_NAMES ${TERN_CPU_LEVEL_NAMES} PARENT_SCOPE)
  set(TERN_CPU_FLAGS_${name} "${ARGN}" PARENT_SCOPE)
  set(TERN_CPU_BASE_${name} ${base} PARENT_SCOPE)
  foreach(kind IN LISTS kinds)
    set(TERN_CPU_LEVELS_OF_${kind} ${TERN_CPU_LEVELS_OF_${kind}} ${name} PARENT_SCOPE)
  endforeach()
endfunction()
include(${PROJECT_SOURCE_DIR}/dtypes/cpu_levels.cmake)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/dtypes/cpu_levels.cmake)

# The list as macros: TERN_CPU_LEVEL_COUNT levels of the kind vectors, TERN_EACH_CPU_LEVEL(DO) is DO(name, base) for each
# level, TERN_EACH_CPU_KIND(DO) DO(kind) for each kind, TERN_EACH_LEVEL_kind(DO, ...) DO(name, ...) for each level of a
# kind, and TERN_EACH_CPU_TARGET(DO) DO(name, "target options") for each level of the kind vectors that has flags.
list(LENGTH TERN_CPU_LEVELS_OF_vectors level_count)
set(each_level "")
set(each_kind "")
set(each_of_kind "")
set(each_target "")
foreach(name IN LISTS TERN_CPU_LEVEL_NAMES)
  string(APPEND each_level " DO(${name}, ${TERN_CPU_BASE_${name}})")
endforeach()
foreach(kind IN LISTS TERN_CPU_KINDS)
  string(APPEND each_kind " DO(${kind})")
  string(APPEND each_of_kind "#define TERN_EACH_LEVEL_${kind}(DO, ...)")
  foreach(name IN LISTS TERN_CPU_LEVELS_OF_${kind})
    string(APPEND each_of_kind " DO(${name} __VA_OPT__(,) __VA_ARGS__)")
  endforeach()
  string(APPEND each_of_kind "\n")
endforeach()
foreach(name IN LISTS TERN_CPU_LEVELS_OF_vectors)
  set(target ${TERN_CPU_FLAGS_${name}})
  if(target)
    list(TRANSFORM target REPLACE "^-m" "")
    list(JOIN target "," target)
    string(APPEND each_target " DO(${name}, \"${target}\")")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${TERN_GENERATED}/dtypes/cpu_levels.h CONTENT
"// Written by cmake/TernCpuLevels.cmake from dtypes/cpu_levels.cmake.
#pragma once

#define TERN_CPU_LEVEL_COUNT ${level_count}
#define TERN_EACH_CPU_LEVEL(DO)${each_level}
#define TERN_EACH_CPU_KIND(DO)${each_kind}
${each_of_kind}#define TERN_EACH_CPU_TARGET(DO)${each_target}
" @ONLY)

# tern_levels(KIND PATH... [ALONE] OPTIONS OPTION...): PATH.inc is compiled once for each level of the kind, with
# TERN_LEVEL defined (dtypes/levels.h), and joins `sources`. PATH is relative to the current folder. A loop with macros or
# names of its own that others have too is no member of a unit: ALONE.
function(tern_levels kind)
  cmake_parse_arguments(PARSE_ARGV 1 loop ALONE "" OPTIONS)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(path IN LISTS loop_UNPARSED_ARGUMENTS)
    foreach(level IN LISTS TERN_CPU_LEVELS_OF_${kind})
      set(file ${TERN_GENERATED}/${folder}/${path}_${level}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "#undef TERN_LEVEL\n#define TERN_LEVEL ${level}\n#include \"${folder}/${path}.inc\"\n")
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${TERN_CPU_FLAGS_${level}};${loop_OPTIONS}"
        SKIP_UNITY_BUILD_INCLUSION ${loop_ALONE})
      list(APPEND sources ${file})
    endforeach()
  endforeach()
  set(sources ${sources} PARENT_SCOPE)
endfunction()
