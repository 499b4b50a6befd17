#!/usr/bin/env bash
# size.sh BUILD: the deployed library, stripped, has less than 10 MB; oneDNN and LAPACK are separate libraries.
# Six instruction sets have their own loops: a pointwise function in vectors costs about 10 kB, a product 40 kB.
set -euo pipefail
limit=10000000
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1/libtern.so"
size=$(stat -c %s "$stripped")
echo "$1/libtern.so: $size bytes without symbols, at most $limit"
((size < limit))
