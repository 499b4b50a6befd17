#!/usr/bin/env bash
# Writes SHA256SUMS of the files in a folder, and signs the sums if TERN_SIGNING_KEY names a key known to gpg: sign.sh
# FOLDER. Users of a release check both: gpg --verify SHA256SUMS.asc SHA256SUMS && sha256sum --check SHA256SUMS
set -euo pipefail
cd "$1"
rm -f SHA256SUMS SHA256SUMS.asc
sums=$(find . -maxdepth 1 -type f -printf '%f\0' | LC_ALL=C sort -z | xargs -0 sha256sum)
printf '%s\n' "$sums" >SHA256SUMS
if [[ ${TERN_SIGNING_KEY:-} ]]; then
  gpg --batch --yes --quiet --local-user "$TERN_SIGNING_KEY" --armor --output SHA256SUMS.asc --detach-sign SHA256SUMS
  echo "$1/SHA256SUMS, signed with the key $TERN_SIGNING_KEY"
else
  echo "$1/SHA256SUMS, not signed: TERN_SIGNING_KEY names no key"
fi
