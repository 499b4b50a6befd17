#!/usr/bin/env bash
# Builds Tern for aarch64 and runs the tests under qemu-user: arm64.sh BITS EVERY. Runs unit tests, the programs, and
# every EVERY-th case of the conformance set including the first of each op, in default mode and against BITS, the bits
# written on another processor (conform.py --save-bits). Repeats a sample on processors that qemu imitates and at each
# instruction set (dtypes/cpu_levels.cmake).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
# shellcheck source=tests/scripts/count.sh
. tests/scripts/count.sh
bits=$1
every=$2
folder=build-arm64
data=build/test-data
programs=(test_dtypes test_threads test_schema)
samples=(QEMU_CPU=cortex-a53 QEMU_CPU=cortex-a76 QEMU_CPU=neoverse-n1 QEMU_CPU=neoverse-v1 TERN_CPU=neon
  TERN_CPU=dotprod TERN_CPU=i8mm)
./dev setup arm64 || exit
cmake/configure.sh arm64 "$folder" &&
  nice ninja -C "$folder" -j "${TERN_JOBS:-$(nproc)}" --quiet tern test_levels "${programs[@]}" || exit
# Death tests start the program anew, outside of the emulator.
for program in "${programs[@]}"; do
  try "$program" qemu-aarch64 "$folder/$program" --gtest_brief=1 --gtest_filter='-*DeathTest*'
done

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
# qemu's default processor, max, has all levels. An older qemu lacks some processors.
# Many threads wait for each other in emulation; other tests cover them.
try test_levels env OMP_NUM_THREADS=1 qemu-aarch64 "$folder/test_levels" --gtest_brief=1 \
  --gtest_filter='-*Threads:*.Shapes:ProductsOfRows.Products:ProductsOfRows.Convolutions'
for sample in "${samples[@]}"; do
  [[ $sample != QEMU_CPU=* ]] || qemu-aarch64 -cpu help | grep -qw -- "${sample#*=}" || continue
  export "${sample?}"
  try "test_dtypes, $sample" qemu-aarch64 "$folder/test_dtypes" --gtest_brief=1 --gtest_filter='Cpu*'
  conform --known tests/data/conformance_expected_failures.txt --every $((10 * every)) --may-pass "$data/conformance"
  conform --known tests/data/reproducible_expected_failures.txt --check-bits "$bits" --every $((10 * every)) --may-pass "$data/conformance"
  unset "${sample%%=*}"
done
rm -f "$log"
report
