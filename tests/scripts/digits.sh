#!/usr/bin/env bash
# The digits example from the command line, as ./dev demo runs it: digits.sh FOLDER
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
folder=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
try export "$folder/tern" export examples/digits/digits.pt2 -o "$out/digits.tern"
try 'export with zstd' "$folder/tern" export examples/digits/digits.pt2 -o "$out/small.tern" --compress zstd:9
try 'export tuned' "$folder/tern" export examples/digits/digits.pt2 -o "$out/tuned.tern" --target cpu --tune --tune-seconds 3
refused() { ! "$@"; }
try 'tuning needs a processor' refused "$folder/tern" export examples/digits/digits.pt2 -o "$out/other.tern" --tune
try inspect "$folder/tern" inspect "$out/digits.tern"
try validate "$folder/tern" validate "$out/digits.tern"
try 'validate tuned' "$folder/tern" validate "$out/tuned.tern"
try 'validate zstd' "$folder/tern" validate "$out/small.tern"
try classify "$folder/digits_classify" "$out/digits.tern" examples/digits/digits_test.safetensors
try 'classify, zstd' "$folder/digits_classify" "$out/small.tern" examples/digits/digits_test.safetensors
try 'classify, tuned' "$folder/digits_classify" "$out/tuned.tern" examples/digits/digits_test.safetensors
report
