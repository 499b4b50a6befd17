#!/usr/bin/env bash
# Release files beside the packages: release_test.sh TARBALL. The bill of materials names everything in the tarball and
# follows CycloneDX's schema; SHA256SUMS is signed with a temporary key, and a changed file or sum is detected.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
tarball=$1
out=$(mktemp -d)
home=$(mktemp -d) # gpg's: a short path, since its sockets lie in it
trap 'GNUPGHOME=$home gpgconf --kill all; rm -rf "$out" "$home"' EXIT
python=build/packaging-tools/bin/python
cp "$tarball" "$out/"
base=$(basename "$tarball")
bill=$out/${base%.tar.gz}.cdx.json

names_all() {
  diff <(tar -tzf "$tarball" | sed -n 's|^[^/]*/lib/\(lib[^/]*\.so[^/]*\)$|\1|p' | grep -v '^libtern\.so' | sort) \
    <("$python" -c "
import json, sys
for c in json.load(open(sys.argv[1]))['components']:
    if c['bom-ref'].startswith('lib/'): print(c['name'])" "$bill" | sort)
}
# A library's hash in the bill equals the file's hash.
hashes() {
  tar -xzf "$tarball" -C "$out" --strip-components=1 --wildcards '*/lib/libzstd.so*' &&
    grep -qF "$(sha256sum "$out"/lib/libzstd.so* | cut -d ' ' -f 1)" "$bill" && rm -r "${out:?}/lib"
}
twice() { "$python" packaging/sbom.py "$tarball" "$out/again.cdx.json" >/dev/null && cmp "$bill" "$out/again.cdx.json" && rm "$out/again.cdx.json"; }
# A library missing in parts.txt.
unnamed() {
  local work=$out/unnamed
  local tree=${base%.tar.gz}
  mkdir "$work" && tar -xzf "$tarball" -C "$work" && cp "$work/$tree"/lib/libzstd.so* "$work/$tree/lib/libother.so.1" &&
    tar -czf "$work/$base" -C "$work" "$tree" &&
    ! "$python" packaging/sbom.py "$work/$base" "$work/bill.json" 2>"$work/log" && grep -q 'does not name lib/libother.so.1' "$work/log" &&
    [[ ! -e $work/bill.json ]] && rm -r "$work"
}
key() {
  gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-generate-key 'Test <test@example.org>' ed25519 sign never
}
signed() { TERN_SIGNING_KEY=test@example.org packaging/sign.sh "$out"; }
verified() { (cd "$out" && gpg --batch --quiet --verify SHA256SUMS.asc SHA256SUMS 2>/dev/null && sha256sum --quiet --check SHA256SUMS); }
changed_file() { echo >>"$bill" && ! verified 2>/dev/null; }
changed_sums() { ! (cd "$out" && sha256sum "$base" "${bill##*/}" >SHA256SUMS && gpg --batch --quiet --verify SHA256SUMS.asc SHA256SUMS 2>/dev/null); }
unsigned() { packaging/sign.sh "$out" | grep -q 'not signed' && [[ ! -e $out/SHA256SUMS.asc ]]; }
export GNUPGHOME=$home
try 'the bill is written, and keeps to the schema' "$python" packaging/sbom.py "$tarball" "$bill"
try 'it names every library' names_all
try 'it has their hashes' hashes
try 'it is the same again' twice
try 'a library of no known origin is refused' unnamed
try 'a key' key
try 'the sums are signed' signed
try 'signature and sums hold' verified
try 'a changed file is found' changed_file
try 'changed sums are found' changed_sums
try 'without a key nothing is signed' unsigned
report
