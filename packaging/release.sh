#!/usr/bin/env bash
# Completes a release: release.sh FOLDER. Adds the sources of the last commit, the bill of materials of the tarball, and
# SHA256SUMS of all files. TERN_SIGNING_KEY, a key known to gpg, signs the sums: SHA256SUMS.asc.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$1
version=$(sed -n 's/^#define TERN_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/tern/version.h | paste -sd .)
git archive --prefix="tern-$version/" HEAD | gzip -9n >"$out/tern-$version.tar.gz"
for tarball in "$out"/tern-"$version"-linux-*.tar.gz; do
  build/packaging-tools/bin/python packaging/sbom.py "$tarball" "${tarball%.tar.gz}.cdx.json"
done
packaging/sign.sh "$out"
