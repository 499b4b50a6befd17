#!/usr/bin/env bash
# build.sh TARGET [NINJA_TARGET...]: builds Tern for a target of targets.txt in build/cross/TARGET/tern.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=$1
shift
folder=$PWD/build/cross/$target
here=linux-musl-$(uname -m)
cmake/cross/compiler.sh "$target"
cmake/cross/sources.sh
cmake/cross/libraries.sh "$target"
export CCACHE_DEPEND=1 # hashes no preprocessed sources
options=(-DTERN_WITH_{OPENMP,DNNL,BLAS,LAPACK}"=OFF" -DTERN_WITH_TEXT=ON -DTERN_BUILD_{TESTS,PYTHON,ENGINES,EXAMPLES}"=OFF"
  -DTERN_WERROR=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON)
# A static program loads no libraries at run time.
[[ $target != linux-musl-* ]] || options+=(-DTERN_{SHARED,LOADS_LIBRARIES,BUILD_PLUGINS}"=OFF" -DCMAKE_SKIP_RPATH=ON)
[[ $target != windows-* ]] || options+=(-DTERN_{LOADS_LIBRARIES,BUILD_PLUGINS}"=OFF" -DTERN_BUILD_TESTS=ON)
# Programs that write sources run on this machine: those of an existing build, or of the static command's.
programs=(tern_embed_texts tern_embed_page tern_generate_texts)
host=$PWD/build/cross/$here/tern
[[ ! -f build/build.ninja || $target == "$here" ]] || host=$PWD/build
options+=("-DCMAKE_CROSSCOMPILING_EMULATOR=$PWD/cmake/cross/host_program.sh;$host")
if [[ $host == "$PWD/build" ]]; then
  ninja -C build -j "${TERN_JOBS:-$(nproc)}" --quiet "${programs[@]}"
elif [[ $target != "$here" ]]; then
  "${BASH_SOURCE[0]}" "$here" "${programs[@]}"
fi
cmake -G Ninja -S . -B "$folder/tern" -DTERN_CROSS_FOLDER="$folder" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/cross/toolchain.cmake" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib "${options[@]}" --log-level=WARNING >"$folder/configure.log" ||
  { tail -n 30 "$folder/configure.log" >&2 && exit 1; }
ninja -C "$folder/tern" -j "${TERN_JOBS:-$(nproc)}" --quiet "$@"
