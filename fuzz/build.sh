#!/usr/bin/env bash
# Builds the fuzz targets for OSS-Fuzz with $CXX, $CXXFLAGS and $LIB_FUZZING_ENGINE into $OUT: targets,
# NAME_seed_corpus.zip, NAME.dict, NAME.options, and in lib/ the shared libraries missing on OSS-Fuzz's runners.
set -euo pipefail
tern=${SRC:-/src}/tern
[[ -d $tern/fuzz ]] || tern=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${OUT:?the folder that gets the targets}"
: "${LIB_FUZZING_ENGINE:=-fsanitize=fuzzer}"
export LIB_FUZZING_ENGINE
work=${WORK:-$tern/build-oss-fuzz}
mkdir -p "$OUT/lib"
# The program runs from $OUT, and RPATH (unlike RUNPATH) also finds the libraries of its libraries beside the program.
# {fmt} is compiled in: Debian's {fmt} uses another standard library than OSS-Fuzz.
cmake -S "$tern" -B "$work" -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=Sanitize -DTERN_SANITIZE= -DTERN_BUILD_FUZZERS=ON \
  -DTERN_BUILD_TESTS=OFF -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN/lib' \
  '-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags' "-DCMAKE_CXX_FLAGS=${CXXFLAGS:-} -DFMT_HEADER_ONLY=1"
# The build runs its own programs, instrumented like all others.
ASAN_OPTIONS=detect_leaks=0 ninja -C "$work" -j "${TERN_JOBS:-$(nproc)}" fuzz_targets tern
ASAN_OPTIONS=detect_leaks=0 "$tern/fuzz/seeds.sh" "$work/tern" "$work/seeds/fuzz_run"
for source in "$tern"/fuzz/fuzz_*.cpp; do
  name=$(basename "$source" .cpp)
  cp "$work/$name" "$OUT/"
  for extra in "$tern/fuzz/$name.dict" "$tern/fuzz/$name.options"; do
    [[ ! -f $extra ]] || cp "$extra" "$OUT/"
  done
  seeds=()
  for folder in "$tern/fuzz/corpus/$name" "$work/seeds/$name"; do
    [[ ! -d $folder ]] || seeds+=("$folder"/*)
  done
  ((${#seeds[@]} == 0)) || python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" "${seeds[@]}"
  ldd "$work/$name" | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv|libgcc_s)\.so' |
    xargs -r cp -nLt "$OUT/lib"
done
