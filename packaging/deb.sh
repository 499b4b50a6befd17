#!/usr/bin/env bash
# Builds the Debian packages of debian/: deb.sh OUT_FOLDER. The build uses a copy of the sources, because
# dpkg-buildpackage writes into its folder and the parent folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p "$1"
out=$(realpath "$1")
version=$(sed -n 's/^#define TERN_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/tern/version.h | paste -sd .)
packaged=$(dpkg-parsechangelog -S Version)
[[ ${packaged%-*} == "$version" ]] ||
  { echo "debian/changelog is of version ${packaged%-*}, include/tern/version.h of $version" >&2 && exit 1; }
work=build-deb
rm -rf "$work" && mkdir -p "$work/tern"
git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --ignore-failed-read -cf - | tar -xf - -C "$work/tern"
# debhelper sets another home folder for the build. ccache finds objects of ./dev package only with the same flags.
if command -v ccache >/dev/null; then CCACHE_DIR=${CCACHE_DIR:-$(ccache --get-config cache_dir)} && export CCACHE_DIR; fi
export DEB_BUILD_OPTIONS="parallel=${TERN_JOBS:-$(nproc)} ${DEB_BUILD_OPTIONS:-}"
(cd "$work/tern" && nice dpkg-buildpackage --build=binary --no-sign) >"$work/build.log" 2>&1 ||
  { tail -n 40 "$work/build.log" >&2 && echo "the packages could not be built: $work/build.log" >&2 && exit 1; }
rm -f "$out"/*.deb "$out"/*.changes "$out"/*.buildinfo
mv "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$out/"
stat -c '%n, %s bytes' "$out"/*.deb | sed "s|^$PWD/||"
