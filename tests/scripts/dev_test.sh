#!/usr/bin/env bash
# Newcomers' problems with ./dev and its scripts: missing or uninstallable packages, no PyPI, no network, an old cmake,
# other folders. A copy of ./dev runs with stand-ins for tools that change the machine.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
copy="$work/a folder"
mkdir -p "$copy/tests/scripts" "$copy/cmake" "$work/bin" "$work/tools"
cp dev "$copy/"
cp cmake/configure.sh "$copy/cmake/"
cp tests/scripts/device.sh "$copy/tests/scripts/"
echo 'no-such-package-of-tern==1.0' >"$copy/tests/scripts/device_requirements.txt"
stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
# All packages are installed except those in $work/missing. apt-get logs its calls and runs $work/apt.
stand_in dpkg-query "shift 3; s=0; for p; do if grep -qx \"\$p\" '$work/missing'; then s=1; else echo \"installed \$p\"; fi; done; exit \$s"
stand_in apt-get "echo \"\$@\" >>'$work/calls'; . '$work/apt'"
stand_in sudo 'exec "$@"'
: >"$work/missing"
: >"$work/calls"
: >"$work/apt"
export PATH=$work/bin:$PATH
unset TERN_JOBS

# says PATTERN COMMAND...: the command fails, and its output matches the pattern. prints: the command succeeds.
says() { ! "${@:2}" >"$work/log" 2>&1 </dev/null && grep -qE "$1" "$work/log" || { cat "$work/log"; return 1; }; }
prints() { "${@:2}" >"$work/log" 2>&1 </dev/null && grep -qE "$1" "$work/log" || { cat "$work/log"; return 1; }; }
dev() { "$copy/dev" "$@"; }

from_elsewhere() { (cd / && prints 'usage: ./dev' dev help); }
through_a_link() { ln -s "$copy/dev" "$work/tern-dev" && prints 'usage: ./dev' "$work/tern-dev" help; }
nothing_missing() { dev setup && [[ ! -s $work/calls ]]; }
missing() {
  printf 'mold\nlibfmt-dev\n' >"$work/missing" && prints 'Installing libfmt-dev mold$' dev setup &&
    grep -qE 'install --no-install-recommends libfmt-dev mold$' "$work/calls"
}
not_installable() {
  echo 'echo "E: Unable to locate package mold"; exit 100' >"$work/apt" && says 'Unable to locate package mold' dev setup &&
    grep -q 'could not install libfmt-dev mold' "$work/log"
}
no_index() {
  # An index without server, and no settings of this machine.
  env -u PIP_FIND_LINKS PIP_CONFIG_FILE=/dev/null PIP_INDEX_URL=http://127.0.0.1:9 PIP_RETRIES=0 "$copy/dev" setup devices
}
no_plugin() {
  mkdir -p "$copy/build/device-tools/vendors" && touch "$copy/build/device-tools/vendors/intel.icd" &&
    "$copy/tests/scripts/device.sh" intel true
}
# A package with two names: selects the name of this system.
other_name() {
  printf 'rocm-device-libs\nrocm-device-libs-17\n' >"$work/missing"
  : >"$work/apt"
  stand_in apt-cache 'case $* in *libs) exit 100 ;; esac'
  no_index # packages are installed before
  rm "$work/bin/apt-cache"
  grep -qE 'install --no-install-recommends rocm-device-libs-17$' "$work/calls"
}
jobs() { local TERN_JOBS=many && export TERN_JOBS && dev help; }
old_cmake() {
  stand_in cmake 'echo cmake version 3.22.1' && mkdir -p "$copy/build" && (cd "$copy" && cmake/configure.sh default build)
  local status=$?
  rm "$work/bin/cmake"
  return $status
}
home() {
  # The compiler cache uses the build folder if the home folder is not writable.
  HOME=/nonexistent bash -c 'unset CCACHE_DIR; set -- help; . "$0" >/dev/null; echo "$CCACHE_DIR"' "$copy/dev"
}
try 'dev runs in its own folder' from_elsewhere
try 'dev runs through a link' through_a_link
try 'nothing is installed that is there' nothing_missing
try 'missing packages are installed' missing
try 'why a package cannot be installed' not_installable
try 'the name that a package has here' other_name
: >"$work/missing"
try 'no PyPI: the message says so' says 'pip could not install' no_index
try 'no PyPI: nothing counts as installed' [ ! -e "$copy/build/device-tools/requirements.txt" ]
try "no Intel runtime: what installs it" says "^FAIL Intel's OpenCL runtime .*dev setup devices" "$copy/tests/scripts/device.sh" intel true
try 'no plugin: what its toolkit is and what installs it' says '^FAIL .* plugin xpu .*dev setup devices.*opencl-headers' no_plugin
try 'TERN_JOBS is no number' says "TERN_JOBS is 'many'" jobs
try 'cmake is too old' says 'cmake 3.25 or later is needed.* 3.22.1' old_cmake
try 'no home folder: the compiler cache is in the build folder' prints '/a folder/build/ccache$' home
try 'unknown command' says "no command 'tset'" dev tset
report
