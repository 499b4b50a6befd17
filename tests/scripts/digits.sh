#!/usr/bin/env bash
# Runs the digits example from the command line like ./dev demo: digits.sh FOLDER
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

# accurate FORMAT LEAST [OPTION...]: quantized, at least LEAST of the 360 digits are right; 357 in float32.
accurate() {
  local right
  "$folder/tern" export examples/digits/digits.pt2 -o "$out/quantized.tern" --quantize "$1" --verify "${@:3}" >"$out/log" || return
  "$folder/tern" inspect "$out/quantized.tern" | grep -q 'classifier.1.weight  *\(blocks\|mx32\)(' || [[ $# -gt 2 ]] || return
  right=$("$folder/digits_classify" "$out/quantized.tern" examples/digits/digits_test.safetensors 2>/dev/null |
    sed -n 's/^Right: \([0-9]*\) of 360,.*/\1/p')
  [[ -n $right ]] && ((right >= $2)) || { echo "$1: ${right:-none} right, fewer than $2" && return 1; }
}
for format in int8 float8 mxfp6_e2m3 mxfp6_e3m2 mxfp8_e4m3 mxfp8_e5m2 nvfp4; do
  try "quantized to $format" accurate $format 354
done
for format in int8 float8; do try "$format activations" accurate $format 354 --activations $format; done
for format in mxfp6_e2m3 mxfp6_e3m2 mxfp8_e4m3 mxfp8_e5m2 nvfp4; do
  try "$format with MX activations" accurate $format 354 --activations mx
done
for format in int4 mxfp4; do
  try "quantized to $format" accurate $format 347
  try "$format with MX activations" accurate $format 347 --activations mx --mx-scales even
done
report
