#!/usr/bin/env bash
# Builds Tern for aarch64 and runs the tests under qemu-user: arm64.sh BITS EVERY. Runs unit tests, the programs, and
# every EVERY-th case of the conformance set including the first of each op, in default mode and against BITS, the bits
# written on another processor (conform.py --save-bits).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
# shellcheck source=tests/scripts/count.sh
. tests/scripts/count.sh
bits=$1
every=$2
folder=build-arm64
data=build/test-data
programs=(test_dtypes test_threads test_schema)
./dev setup arm64 || exit
cmake/configure.sh arm64 "$folder" &&
  nice ninja -C "$folder" -j "${TERN_JOBS:-$(nproc)}" --quiet tern "${programs[@]}" || exit
for program in "${programs[@]}"; do try "$program" qemu-aarch64 "$folder/$program" --gtest_brief=1; done

# conform.py runs a single command.
command=$folder/tern_under_qemu
printf '#!/bin/sh\nexec qemu-aarch64 "%s/%s/tern" "$@"\n' "$PWD" "$folder" >"$command"
chmod +x "$command"
log=$(mktemp)
conform() {
  tests/scripts/conform.py --tern "$command" "$@" | tee "$log"
  add "$log"
}
conform --known tests/data/conformance_expected_failures.txt "$data/programs"
conform --known tests/data/conformance_expected_failures.txt --every "$every" --may-pass "$data/conformance"
conform --known tests/data/reproducible_expected_failures.txt --check-bits "$bits" --every "$every" --may-pass "$data/conformance"
rm -f "$log"
report
