#!/usr/bin/env bash
# Builds the relocatable tarball: tarball.sh BUILD_FOLDER OUT_FOLDER. The command and the library find their libraries
# by relative paths ($ORIGIN); every shared library except glibc's is copied, with the text of its licence. The same
# sources, packages and SOURCE_DATE_EPOCH give the same bytes.
set -euo pipefail
umask 022
folder=$1
out=$2
version=$(sed -n 's/^#define TERN_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/tern/version.h | paste -sd .)
name=tern-$version-linux-$(uname -m)
stage=$out/$name
glibc='^(libc|libm|libdl|libpthread|librt|libmvec|libresolv|ld-linux.*|linux-vdso)\.so'
rm -rf "$stage"
mkdir -p "$stage"
cmake --install "$folder" --prefix "$stage" --strip >/dev/null

# Users of the static library need development packages, and build the library themselves.
rm -f "$stage"/lib*/libtern.a
# The server of `tern view` needs cpp-httplib, which depends on OpenSSL and Brotli; --html works without them.
rm -f "$stage"/lib*/tern/tern_http_server.so
rmdir "$stage"/lib*/tern 2>/dev/null || true
# Debian's package of a file; older packages are recorded under /lib, newer packages under /usr/lib.
owner() {
  local file
  file=$(realpath "$1")
  { dpkg-query -S "$file" 2>/dev/null || dpkg-query -S "${file#/usr}"; } | head -n 1 | cut -d : -f 1
}

# All dependencies of the command and the libraries found by `ldd`, including indirect dependencies.
mapfile -t needed < <(ldd "$stage/bin/tern" "$stage"/lib/libtern*.so | awk '$3 ~ /^\// {print $1, $3}' | LC_ALL=C sort -u)
licences=$stage/share/doc/tern/licences
mkdir -p "$licences"
# Origin of each part, for readers and for packaging/sbom.py: file, source package, version, distribution.
parts=$stage/share/doc/tern/parts.txt
distribution=$(sed -n 's/^ID=//p' /etc/os-release)
part() { printf '%s %s %s\n' "$1" "$(dpkg-query -W -f '${source:Package} ${source:Version}' "$2")" "$distribution" >>"$parts"; }
for line in "${needed[@]}"; do
  soname=${line%% *} path=${line#* }
  [[ $soname =~ $glibc || $soname == libtern.so* ]] && continue
  install -m 755 "$(realpath "$path")" "$stage/lib/$soname"
  strip --strip-unneeded "$stage/lib/$soname"
  package=$(owner "$path")
  install -m 644 "/usr/share/doc/$package/copyright" "$licences/${soname%%.so*}.txt"
  part "lib/$soname" "$package"
done
# Header-only libraries are part of the binaries, too.
for package in nlohmann-json3-dev libcli11-dev libflatbuffers-dev; do
  install -m 644 "/usr/share/doc/$package/copyright" "$licences/$package.txt"
  part - "$package"
done
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w --format=gnu \
  ${SOURCE_DATE_EPOCH:+"--mtime=@$SOURCE_DATE_EPOCH"} -cf - -C "$out" "$name" | gzip -9n >"$out/$name.tar.gz"
printf '%s, %s bytes\n' "$out/$name.tar.gz" "$(stat -c %s "$out/$name.tar.gz")"
