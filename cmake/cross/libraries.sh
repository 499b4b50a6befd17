#!/usr/bin/env bash
# libraries.sh TARGET: builds the libraries of build/cross/sources for TARGET, statically, into build/cross/TARGET/prefix.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target=$1
folder=$PWD/build/cross/$target
sources=$PWD/build/cross/sources
prefix=$folder/prefix
stamp=$prefix/libraries.txt
now=$(cat "${BASH_SOURCE[0]}" cmake/cross/requirements.txt "$sources/packages.txt" | cksum)
[[ $(cat "$stamp" 2>/dev/null) == "$now" ]] && exit
echo "Building libraries for $target" >&2
rm -rf "$prefix"
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/share/cmake" "$folder/libraries"

# quiet LOG COMMAND...: prints the output of a command that fails.
quiet() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2 && echo "libraries.sh: $* failed" >&2 && exit 1; }
}

# build NAME FOLDER [OPTION...]: a library with rules for CMake, in FOLDER of the sources or of this machine.
build() {
  local name=$1 source=$2 work=$folder/libraries/$1
  shift 2
  [[ $source == /* ]] || source=$sources/$source
  quiet "$work.configure.log" cmake -G Ninja -S "$source" -B "$work" -DTERN_CROSS_FOLDER="$folder" \
    -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/cross/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF "$@"
  quiet "$work.build.log" cmake --build "$work" -j "${TERN_JOBS:-2}"
  quiet "$work.install.log" cmake --install "$work"
}

# zlib's rules always build a shared library, too.
mkdir -p "$folder/libraries/zlib"
for file in adler32 crc32 deflate inflate inftrees inffast trees zutil compress uncompr gzlib gzread gzwrite gzclose; do
  "$folder/bin/cc" -O2 -fPIC -w -DHAVE_UNISTD_H -c "$sources/zlib/$file.c" -o "$folder/libraries/zlib/$file.o"
done
"$folder/bin/ar" rcs "$prefix/lib/libz.a" "$folder"/libraries/zlib/*.o
cp "$sources"/zlib/{zlib,zconf}.h "$prefix/include/"

# All at once: most of the time goes into checks of one compiler's features, one by one.
build zstd libzstd/build/cmake -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_TESTS=OFF -DZSTD_MULTITHREAD_SUPPORT=OFF &
build fmt fmtlib -DFMT_TEST=OFF -DFMT_DOC=OFF &
build xxhash xxhash/cmake_unofficial -DXXHASH_BUILD_XXHSUM=OFF &
build libzip libzip -DENABLE_{BZIP2,LZMA,ZSTD,OPENSSL,GNUTLS,MBEDTLS,COMMONCRYPTO,WINDOWS_CRYPTO}=OFF \
  -DBUILD_{TOOLS,REGRESS,EXAMPLES,DOC}=OFF "-DCMAKE_C_FLAGS=-Wno-nullability-completeness -Wno-error=incompatible-function-pointer-types" \
  -DZLIB_LIBRARY="$prefix/lib/libz.a" -DZLIB_INCLUDE_DIR="$prefix/include" &
build pcre2 pcre2 -DPCRE2_BUILD_PCRE2GREP=OFF -DPCRE2_BUILD_TESTS=OFF -DPCRE2_SUPPORT_JIT=ON &
build utf8proc utf8proc -DUTF8PROC_ENABLE_TESTING=OFF &
# Unit tests of this system run under Wine.
[[ $target != windows-* ]] || build gtest /usr/src/googletest -DBUILD_GMOCK=OFF &
for job in $(jobs -p); do wait "$job"; done  # a failed job ends the script

# Headers of Windows' libraries otherwise declare imports from DLLs; static libzip calls the system's library of random
# numbers.
if [[ $target == windows-* ]]; then
  for library in libzip:ZIP libpcre2-8:PCRE2 libutf8proc:UTF8PROC; do
    sed -i "s/^Cflags:.*/& -D${library#*:}_STATIC/" "$prefix/lib/pkgconfig/${library%:*}.pc"
  done
  sed -i 's/^Libs:.*/& -lz -lbcrypt -ladvapi32/' "$prefix/lib/pkgconfig/libzip.pc"
fi

# These libraries are headers alone, in packages of this machine.
cp "$sources/cpp-httplib/httplib.h" "$prefix/include/"
printf 'Name: cpp-httplib\nDescription: HTTP server\nVersion: 0\n' >"$prefix/lib/pkgconfig/cpp-httplib.pc"
for name in flatbuffers CLI nlohmann; do cp -r "/usr/include/$name" "$prefix/include/"; done
for name in CLI11 nlohmann_json; do cp -r "/usr/share/cmake/$name" "$prefix/share/cmake/"; done
printf '%s\n' "$now" >"$stamp"
