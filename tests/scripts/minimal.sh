#!/usr/bin/env bash
# minimal.sh BUILD: with the preset `minimal`, a small program with libtern.a alone classifies the digits. The command
# in BUILD exports the archive.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
folder=$1
limit=3200000
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
made() {
  cmake/configure.sh minimal build-minimal && nice ninja -C build-minimal -j "${TERN_JOBS:-$(nproc)}" --quiet digits_classify &&
    strip -o "$out/digits" build-minimal/digits_classify
}
small() {
  local size
  size=$(stat -c %s "$out/digits")
  echo "digits_classify: $size bytes without symbols, at most $limit"
  ((size <= limit))
}
alone() { ! readelf -d "$out/digits" | grep -E 'NEEDED.*(libtern|dnnl|blas|lapack)'; }
classifies() {
  "$folder/tern" export examples/digits/digits.pt2 -o "$out/digits.tern" >/dev/null &&
    "$out/digits" "$out/digits.tern" examples/digits/digits_test.safetensors >"$out/said" && grep '^Right: 357 of 360' "$out/said"
}
refuses() { ! "$out/digits" examples/digits/digits.pt2 examples/digits/digits_test.safetensors; }
try 'the preset minimal builds' made
try 'its program is small' small
try 'its program needs neither libtern.so nor other libraries of products' alone
try 'its program classifies the digits' classifies
try 'its program refuses what is no archive' refuses
report
