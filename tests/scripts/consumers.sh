#!/usr/bin/env bash
# Projects that use an installed Tern: the README's C++ example, a CMake project and a plain compiler with pkg-config;
# and a project that embeds the source tree. consumers.sh FOLDER [PREFIX]: installs FOLDER into FOLDER/install unless
# PREFIX is given.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
folder=$1
prefix=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ -z $prefix ]]; then
  prefix=$work/install # must have no space: pkg-config's output is split into words
  cmake --install "$folder" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
fi
# Installs after ./dev demo, which builds no plugin: everything built is installed, and the log lists the rest.
installs_what_is_there() {
  local plugin=$folder/devices/libtern_cuda.so
  mv "$plugin" "$work/hidden.so" 2>/dev/null
  cmake --install "$folder" --prefix "$work/partial" >"$work/partial.log" 2>&1
  local status=$?
  [[ ! -e $work/hidden.so ]] || mv "$work/hidden.so" "$plugin"
  ((status == 0)) && grep -q 'Left out, since they were not built: .*tern_cuda' "$work/partial.log" && "$work/partial/bin/tern" version ||
    { tail -n 5 "$work/partial.log"; return 1; }
}
[[ ${2:-} ]] || try 'an installation without plugins' installs_what_is_there
"$prefix/bin/tern" export examples/digits/digits.pt2 -o "$work/digits.tern" >/dev/null || exit 1

with_cmake() {
  cmake -G Ninja -S "$1" -B "$work/$2" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release "${@:3}" --log-level=WARNING \
    >/dev/null && ninja -C "$work/$2" --quiet
}
# A moved prefix: the .pc files and the rpath follow.
mkdir "$work/moved"
cp -a "$prefix" "$work/moved/tern here"
ln -s "$work/moved/tern here" "$work/moved/tern"
flags() { PKG_CONFIG_PATH=$(dirname "$(find "$1/" -name tern.pc)") pkg-config --cflags --libs "$2"; }
# with_pkg_config PREFIX: the compiler's default language version, only tern.pc's rpath, nothing from the environment.
with_pkg_config() {
  local flags
  flags=$(flags "$1" tern) || return 1
  # shellcheck disable=SC2086
  g++ tests/consumer/main.cpp $flags -o "$work/with_pkg_config" && env -i "$work/with_pkg_config" "$work/digits.tern"
}
# A project that embeds the source tree. Its build folder stays, so that a second run compiles only changes. Its options
# and the relative paths of its files equal the tested build's, so that ccache finds the objects.
subproject=$folder-subproject
as_subproject() {
  local target launcher
  launcher=$(grep -ohE "[^ }]*cmake -E env CCACHE_.* [^ ]*ccache " "$folder/CMakeFiles/rules.ninja" | head -n 1 | xargs | tr " " ";")
  env -u CMAKE_CXX_COMPILER_LAUNCHER cmake --fresh -G Ninja -S tests/consumer/subproject -B "$subproject" -DTERN_SOURCE="$PWD" \
    -DTERN_GENERATED="$subproject/generated" --log-level=WARNING >/dev/null || return 1
  if grep -hE -e '-Werror|-fuse-ld=mold|command = .*ccache ' "$subproject/build.ninja" "$subproject/CMakeFiles/rules.ninja"; then
    echo 'the project that takes Tern in gets this from Tern' && return 1
  fi
  for target in tern test_schema digits_classify tern_xpu; do
    if grep -q "^build $target:" "$subproject/build.ninja"; then echo "it gets $target, too" && return 1; fi
  done
  cmake "$subproject" -DCMAKE_BUILD_TYPE=Release -DTERN_WERROR=ON -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" --log-level=WARNING >/dev/null &&
    nice ninja -C "$subproject" -j "${TERN_JOBS:-$(nproc)}" --quiet consumer consumer_static
}
# The static library, by pkg-config from an installed tree without the shared library. The program needs no libtern at
# run time.
needs_no_libtern() { ! readelf -d "$1" | grep 'NEEDED.*libtern'; }
with_archive() {
  local flags
  mkdir -p "$work/static" && cp -a "$prefix/include" "$prefix/lib" "$work/static" && rm -f "$work"/static/lib/libtern.so*
  flags=$(PKG_CONFIG_PATH=$work/static/lib/pkgconfig pkg-config --static --cflags --libs tern) || return 1
  # shellcheck disable=SC2086
  g++ tests/consumer/main.cpp $flags -o "$work/with_archive" && needs_no_libtern "$work/with_archive" &&
    env -i "$work/with_archive" "$work/digits.tern"
}
as_c_with_archive() {
  local flags
  flags=$(PKG_CONFIG_PATH=$work/static/lib/pkgconfig pkg-config --static --cflags --libs tern-c) || return 1
  # shellcheck disable=SC2086
  gcc -std=c99 tests/consumer/main.c $flags -o "$work/c_with_archive" && env -i "$work/c_with_archive" "$work/digits.tern"
}
static_consumer() { needs_no_libtern "$1" && "$1" "$work/digits.tern"; }
# Strict C, with all public C headers in a single file.
as_c() {
  local flags
  flags=$(flags "$prefix" tern-c) || return 1
  # shellcheck disable=SC2086
  gcc -std=c99 -Wall -Wextra -pedantic -Werror tests/consumer/main.c $flags -lm -o "$work/as_c" &&
    env -i "$work/as_c" "$work/digits.tern"
}
too_old() {
  ! g++ -std=c++17 -fsyntax-only -I"$prefix/include" tests/consumer/main.cpp 2>"$work/old.log" &&
    grep -q '#error "tern/tern.h needs C++20' "$work/old.log" || { cat "$work/old.log"; return 1; }
}
# Each header by itself.
headers() {
  local header
  for header in "$prefix"/include/tern/*.h; do
    echo "#include <tern/$(basename "$header")>" | g++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" -x c++ - ||
      return 1
  done
  for header in c_api.h custom_op.h device.h engine.h version.h; do
    echo "#include <tern/$header>" | gcc -std=c99 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" -x c - || return 1
  done
}
# docs/api.md: the C++ blocks equal examples/cpp/api.cpp, the C block equals examples/cpp/api.c, word for word.
doc_block() { awk -v lang="$1" '$0 == "```" lang {on = 1; next} /^```$/ {on = 0} on' docs/api.md; }
doc_example() {
  local flags c_flags
  diff <(doc_block cpp) <(grep -v '^// ' examples/cpp/api.cpp) && diff <(doc_block c) <(tail -n +2 examples/cpp/api.c) || return 1
  flags=$(flags "$prefix" tern) && c_flags=$(flags "$prefix" tern-c) || return 1
  # shellcheck disable=SC2086
  g++ -Wall -Wextra -Werror examples/cpp/api.cpp $flags -o "$work/api_cpp" && "$work/api_cpp" "$work/digits.tern" >"$work/api_cpp.txt" &&
    gcc -std=c99 -Wall -Wextra -Werror examples/cpp/api.c $c_flags -o "$work/api_c" &&
    "$work/api_c" "$work/digits.tern" >"$work/api_c.txt" && diff "$work/api_cpp.txt" "$work/api_c.txt"
}
# The library exports exactly the listed C functions: removing a function breaks programs.
exported() { nm -D --defined-only "$@" "$(find "$prefix" -name 'libtern.so.*' -type f | head -n 1)"; }
c_symbols() {
  diff cmake/tern_c_api.symbols <(exported --without-symbol-versions | awk '$3 ~ /^tern_/ {print $3}' | LC_ALL=C sort)
}
# The README shows examples/cpp/main.cpp, word for word.
readme_block() { awk '/^```cpp$/ {on = 1; next} /^```$/ {if (on) exit} on' README.md; }
try 'README shows examples/cpp/main.cpp' diff <(readme_block) <(grep -v '^// ' examples/cpp/main.cpp)
try 'examples/cpp compiles' with_cmake examples/cpp example
try 'examples/cpp runs' "$work/example/classify" "$work/digits.tern"
try 'find_package(tern) compiles' with_cmake tests/consumer consumer
try 'find_package(tern) runs' "$work/consumer/consumer" "$work/digits.tern"
try 'find_package(tern) runs in C' "$work/consumer/consumer_c" "$work/digits.tern"
if [[ -z ${2:-} ]]; then # not of a package
  try 'a project with Tern as subproject compiles' as_subproject
  try 'a project with Tern as subproject runs' "$subproject/consumer" "$work/digits.tern"
  try 'a project with Tern as subproject runs with libtern.a' static_consumer "$subproject/consumer_static"
  try 'find_package(tern) runs with libtern.a' static_consumer "$work/consumer/consumer_static"
  try 'pkg-config --static' with_archive
  try 'pkg-config --static in C' as_c_with_archive
fi
try 'pkg-config, compiler of the system' with_pkg_config "$prefix"
try 'pkg-config, moved' with_pkg_config "$work/moved/tern"
try 'an older C++ is told so' too_old
try 'each public header compiles by itself' headers
try 'C99 compiles and runs' as_c
try 'docs/api.md compiles and runs, the same in C and C++' doc_example
try 'the C functions are those of cmake/tern_c_api.symbols' c_symbols
# Trains an archive from C++.
training() {
  "$prefix/bin/tern" export examples/training/digits.pt2 --train --loss cross_entropy -o "$work/train.tern" >/dev/null &&
    "$work/training/train_digits" "$work/train.tern" | grep -qF 'has been trained'
}
try 'examples/training compiles' with_cmake examples/training training
try 'examples/training runs' training
# The archive of a program with an operator of examples/custom_op; without its library the archive must not run.
custom_op() {
  local rope=$work/custom_op/librope.so program=examples/custom_op/rope
  "$prefix/bin/tern" conform $program.pt2 --ops "$rope" &&
    "$prefix/bin/tern" export --ops "$rope" --target cpu $program.pt2 -o "$work/rope.tern" >/dev/null &&
    TERN_OP_PATH=$rope "$prefix/bin/tern" run "$work/rope.tern" --input $program.safetensors
}
refused() {
  local status=0
  "$@" >"$work/refused.log" 2>&1 || status=$?
  ((status == 5)) && grep -q 'mylib' "$work/refused.log" || { cat "$work/refused.log"; return 1; }
}
try 'examples/custom_op compiles' with_cmake examples/custom_op custom_op
try 'examples/custom_op runs' custom_op
try 'an operator that nobody provides is named at export' refused "$prefix/bin/tern" export examples/custom_op/rope.pt2 \
  -o "$work/none.tern"
try 'an operator that nobody provides is named at run' refused "$prefix/bin/tern" run "$work/rope.tern" \
  --input examples/custom_op/rope.safetensors
# An external device, and the report of `tern devices` about a library without device.
device() {
  local plugin=$work/device/example_device.so
  TERN_DEVICE_PATH=$plugin "$prefix/bin/tern" devices | grep -q '^example:0 ' &&
    TERN_DEVICE_PATH=$plugin "$prefix/bin/tern" conform "${device_cases[@]}" --device example
}
no_device() {
  TERN_DEVICE_PATH=$work/custom_op/librope.so "$prefix/bin/tern" devices | grep -q 'does not export tern_device_library'
}
unknown_device() {
  local status=0
  "$prefix/bin/tern" run "$work/digits.tern" --random --size s34=2 --device nothing >"$work/unknown.log" 2>&1 || status=$?
  ((status == 2)) && grep -q "there is no device 'nothing'" "$work/unknown.log"
}
# The operator of examples/custom_op as source, compiled by the device; the operator of a library without source runs on
# the host, and its case fails.
custom_op_on_device() {
  TERN_DEVICE_PATH=$work/device/example_device.so "$prefix/bin/tern" conform examples/custom_op/rope.pt2 \
    --ops "$work/custom_op/librope.so" --device example
}
without_text() {
  sed 's/{TERN_OP_ABI, 1, ops, kernels, 1}/{1, 1, ops}/' examples/custom_op/rope.c >"$work/rope_host.c" &&
    gcc -O2 -shared -fPIC -I"$prefix/include" "$work/rope_host.c" -o "$work/librope_host.so" -lm &&
    TERN_DEVICE_PATH=$work/device/example_device.so "$prefix/bin/tern" run "$work/rope.tern" --device example \
      --input examples/custom_op/rope.safetensors --ops "$work/librope_host.so" &&
    ! TERN_DEVICE_PATH=$work/device/example_device.so "$prefix/bin/tern" conform examples/custom_op/rope.pt2 \
      --ops "$work/librope_host.so" --device example >"$work/host.log" &&
    grep -q '2 nodes ran on the host' "$work/host.log"
}
# odd_library PATTERN MESSAGE: a changed rope.c is refused when loaded, or when a program is planned.
odd_library() {
  sed "$1" examples/custom_op/rope.c >"$work/odd.c" && ! cmp -s "$work/odd.c" examples/custom_op/rope.c &&
    gcc -O2 -shared -fPIC -I"$prefix/include" "$work/odd.c" -o "$work/libodd.so" -lm &&
    ! TERN_DEVICE_PATH=$work/device/example_device.so "$prefix/bin/tern" run "$work/rope.tern" --device example \
      --input examples/custom_op/rope.safetensors --ops "$work/libodd.so" >"$work/odd.log" 2>&1 &&
    grep -q "$2" "$work/odd.log" || { cat "$work/odd.log"; return 1; }
}
# Cases unpacked by the tests, independent of the tested build.
device_cases=(build/test-data/conformance/{add,sum,softmax,mm,cumsum,gather})
try 'examples/device compiles' with_cmake examples/device device
try 'examples/device runs cases' device
try 'examples/custom_op runs on a device' custom_op_on_device
try 'an operator without text runs on the host, and is counted' without_text
try 'a library of a later interface is refused' odd_library 's/{TERN_OP_ABI, 1, ops/{99, 1, ops/' 'built for version 99'
try 'a kernel of no operator is refused' odd_library 's/{"mylib::rope", plan}/{"mylib::other", plan}/' 'names no operator'
try 'a plan without a text is refused' odd_library 's/plan->text = rope_text/plan->text = NULL/' 'lacks a text'
try 'a plan with too many parameters is refused' odd_library 's/integer_count = 3/integer_count = 17/' 'more than 16 integers'
try 'a text without its function is refused' odd_library 's/plan->function = "rope"/plan->function = "none"/' 'compiling tern_custom'
try 'a library that is no device is said to be none' no_device
try 'a device that is not there is named' unknown_device
# The library exports the public API with the version of the soname, and no other symbol of the project, of its
# libraries or of C++ templates.
hidden() {
  local leaked count version
  version=TERN_$(sed -n 's/^#define TERN_VERSION_\(MAJOR\|MINOR\) //p' include/tern/version.h | paste -sd .)
  leaked=$(exported -C | grep -vE " (tern::|tern_|(vtable|typeinfo|typeinfo name) for tern::).*@@$version\$| A $version" | head -n 20)
  [[ -z $leaked ]] || { echo "$leaked"; return 1; }
  count=$(exported | grep -c "@@$version")
  ((count > 100)) || { echo "only $count symbols of version $version"; return 1; }
}
try 'only the public API is exported' hidden
report
