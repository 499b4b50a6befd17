#!/usr/bin/env bash
# compiler.sh TARGET: installs the compiler into build/cross/tools, and its wrappers for TARGET into
# build/cross/TARGET/bin.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=$1
tools=build/cross/tools list=cmake/cross/requirements.txt
triple=$(sed -n "s/^$target *|.*| *//p" cmake/cross/targets.txt)
if ! cmp -s "$list" "$tools/requirements.txt"; then
  echo "Installing the cross compiler: 90 MB" >&2
  mkdir -p build/cross
  python3 -m venv --clear "$tools"
  "$tools/bin/pip" install --quiet --no-deps --requirement "$list"
  cp "$list" "$tools/requirements.txt"
fi
zig=$("$tools/bin/python" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
bin=build/cross/$target/bin
mkdir -p "$bin"
# wrapper NAME COMMAND...: leaves an equal wrapper alone, whose time the compiler cache compares.
wrapper() {
  local name=$1 text
  shift
  text=$(printf '#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR="${ZIG_GLOBAL_CACHE_DIR:-%s}" ZIG_LOCAL_CACHE_DIR="%s"\nexec %s "$@"' \
    "$PWD/build/cross/cache" "$PWD/build/cross/cache" "$*")
  [[ -f $bin/$name && $(<"$bin/$name") == "$text" ]] || printf '%s\n' "$text" >"$bin/$name"
  chmod +x "$bin/$name"
}
wrapper cc "'$zig' cc -target $triple"
wrapper c++ "'$zig' c++ -target $triple"
for tool in ar ranlib rc; do wrapper "$tool" "'$zig' $tool"; done
