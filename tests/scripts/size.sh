#!/usr/bin/env bash
# size.sh BUILD: the deployed library, stripped, has less than 8 MB; oneDNN and LAPACK are separate libraries.
set -euo pipefail
limit=8000000
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1/libtern.so"
size=$(stat -c %s "$stripped")
echo "$1/libtern.so: $size bytes without symbols, at most $limit"
((size < limit))
