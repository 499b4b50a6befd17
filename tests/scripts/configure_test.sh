#!/usr/bin/env bash
# Tests cmake/configure.sh on a project of three lines: configures again when packages, tools, presets or the path
# change, and only then. The package list and the compiler are stand-ins.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
project="$work/a folder"
mkdir -p "$project/cmake" "$work/bin" "$work/prefix/include"
cp cmake/configure.sh "$project/cmake/"
cat >"$project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(sample LANGUAGES NONE)
find_path(TOOLKIT toolkit.h)
file(WRITE ${CMAKE_BINARY_DIR}/toolkit.txt "${TOOLKIT}\n")
END
presets() {
  printf '{"version": 4, "configurePresets": [{"name": "default", "generator": "Ninja", "binaryDir": "${sourceDir}/build",
    "cacheVariables": {"LEVEL": "%s"}}]}\n' "$1" >"$project/CMakePresets.json"
}
presets one
# Stand-ins: the packages and the compiler's version are text files; cmake counts its runs.
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
stand_in dpkg-query "cat '$work/packages'"
stand_in c++ "cat '$work/compiler'"
stand_in cmake "[ \"\$1\" = --version ] || echo run >>'$work/runs'; exec '$(command -v cmake)' \"\$@\""
echo base >"$work/packages"
echo 'c++ 12' >"$work/compiler"
export CMAKE_PREFIX_PATH=$work/prefix PATH=$work/bin:$PATH

# runs COUNT: configures, and expects COUNT runs of cmake.
runs() {
  : >"$work/runs"
  "$project/cmake/configure.sh" default build >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
  local count
  count=$(wc -l <"$work/runs")
  ((count == $1)) || { echo "cmake ran $count times, not $1"; return 1; }
}
toolkit_is() { grep -q "$1" "$project/build/toolkit.txt" || { cat "$project/build/toolkit.txt"; return 1; }; }
has() { grep -q "$1" "$project/build/CMakeCache.txt"; }

first() { runs 1 && toolkit_is NOTFOUND; }
package_installed() { touch "$work/prefix/include/toolkit.h" && echo toolkit >>"$work/packages" && runs 1 && toolkit_is "$work/prefix/include"; }
package_removed() { rm "$work/prefix/include/toolkit.h" && echo base >"$work/packages" && runs 1 && toolkit_is NOTFOUND; }
compiler_upgraded() { echo 'c++ 13' >"$work/compiler" && runs 1 && runs 0; }
preset_changed() { presets two && runs 1 && has '^LEVEL:.*=two$'; }
moved() { mv "$project" "$work/elsewhere" && project=$work/elsewhere && runs 1 && has "^CMAKE_HOME_DIRECTORY:.*=$work/elsewhere\$"; }
by_hand() {
  rm -rf "$project/build" && (cd "$project" && cmake --preset default -DLEVEL_OF_MINE=7 >/dev/null 2>&1) && runs 1 &&
    has '^LEVEL_OF_MINE:.*=7$' && runs 0
}
failed_before() {
  echo 'message(FATAL_ERROR "no")' >>"$project/CMakeLists.txt" && echo more >>"$work/packages" && ! runs 1 >/dev/null &&
    sed -i '$d' "$project/CMakeLists.txt" && runs 1 && runs 0
}
try 'an empty folder is configured' first
try 'nothing changed: nothing is done' runs 0
try 'a package was installed' package_installed
try 'a package was removed' package_removed
try 'the compiler was upgraded' compiler_upgraded
try 'a preset was changed' preset_changed
try 'the folder was moved' moved
try 'options given by hand are kept' by_hand
try 'a configuration that failed is repeated' failed_before
report
