#!/usr/bin/env bash
# compare.sh [BUILD]: the digits model in each microscaled format: bytes of the archive, and the number of correct
# images among 360, with weights in the format, and also with activations. BUILD (build) has tern and digits_classify.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# right NAME OPTION...: exports NAME.tern, and prints the number of correct images.
right() {
  local name=$1
  shift
  "$build/tern" export examples/digits/digits.pt2 -o "$work/$name.tern" "$@" >/dev/null
  # digits_classify exits with 1 for logits other than float32's.
  { "$build/digits_classify" "$work/$name.tern" examples/digits/digits_test.safetensors 2>/dev/null || true; } |
    sed -n 's/^Right: \([0-9]*\) of .*/\1/p'
}
printf '%-12s %8s %9s %13s\n' format bytes weights 'activations'
printf '%-12s %8s %9s\n' float32 "$(right float32 >"$work/right" && stat -c %s "$work/float32.tern")" "$(cat "$work/right")"
for format in mxfp8_e4m3 mxfp8_e5m2 mxfp6_e2m3 mxfp6_e3m2 mxfp4 nvfp4; do
  weights=$(right $format --quantize $format)
  both=$(right both --quantize $format --activations mx)
  printf '%-12s %8s %9s %13s\n' $format "$(stat -c %s "$work/$format.tern")" "$weights" "$both"
done
