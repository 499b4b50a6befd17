#!/usr/bin/env bash
# Packs the build of another system: cross.sh TARGET OUT_FOLDER. The archive, .zip for Windows, holds the command,
# libraries, headers, pages, and the licences of everything compiled in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
umask 022
target=$1
out=$2
version=$(sed -n 's/^#define TERN_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/tern/version.h | paste -sd .)
name=tern-$version-$target
stage=$out/$name
sources=build/cross/sources
rm -rf "$stage" "$stage".{tar.gz,zip}
mkdir -p "$stage"
cmake --install "build/cross/$target/tern" --prefix "$stage" >/dev/null
if [[ $target == linux-* ]]; then  # the linker strips programs of Windows
  strip --strip-all "$stage/bin/tern" "$stage/lib/tern/tern_kernel_compiler"
  strip --strip-debug "$stage"/lib/*.a
fi
licences=$stage/share/doc/tern/licences
mkdir -p "$licences"
for source in libzstd fmtlib xxhash libzip zlib pcre2 utf8proc cpp-httplib; do
  install -m 644 "$sources/$source/debian/copyright" "$licences/$source.txt"
done
for package in nlohmann-json3-dev libcli11-dev libflatbuffers-dev; do
  install -m 644 "/usr/share/doc/$package/copyright" "$licences/$package.txt"
done
zig=$(echo build/cross/tools/lib/python3*/site-packages/ziglang)
for library in libcxx libcxxabi libunwind; do install -m 644 "$zig/lib/$library/LICENSE.TXT" "$licences/$library.txt"; done
install -m 644 "$zig/LICENSE" "$licences/zig.txt"
if [[ $target == windows-* ]]; then
  install -m 644 "$zig/lib/libc/mingw/COPYING" "$licences/mingw-w64.txt"
  archive=$name.zip
  (cd "$out" && python3 - "$name" "$archive" <<'END'
import os, pathlib, sys, time, zipfile
date = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
with zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for path in sorted(p for p in pathlib.Path(sys.argv[1]).rglob("*") if p.is_file()):
        archive.writestr(zipfile.ZipInfo(path.as_posix(), date), path.read_bytes(), zipfile.ZIP_DEFLATED)
END
  )
else
  install -m 644 "$zig/lib/libc/musl/COPYRIGHT" "$licences/musl.txt"
  archive=$name.tar.gz
  tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w --format=gnu --mtime="@$SOURCE_DATE_EPOCH" \
    -cf - -C "$out" "$name" | gzip -9n >"$out/$archive"
fi
printf '%s, %s bytes\n' "$out/$archive" "$(stat -c %s "$out/$archive")"
