#!/usr/bin/env bash
# Builds Tern for Windows and runs it under Wine: windows_test.sh EVERY. Unit tests, all programs, results and quantized
# programs, every EVERY-th model and conformance case, bits of --reproducible against this system's, a program in C.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
# shellcheck source=tests/scripts/count.sh
. tests/scripts/count.sh
every=$1
data=build/test-data
folder=$PWD/build/cross/windows-x86_64
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export WINEDEBUG=-all WINEPREFIX=$work/wine
./dev setup windows || exit
./dev cross windows-x86_64 || exit

tests=(platform threads dtypes schema)
cmake/cross/build.sh windows-x86_64 "${tests[@]/#/test_}" || exit
for name in "${tests[@]}"; do
  try "test_$name" "$wine" "$folder/tern/test_$name.exe" --gtest_brief=1
done

printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$wine" "$folder/tern/tern.exe" >"$work/tern"
chmod +x "$work/tern"
conform() {
  tests/scripts/conform.py --tern "$work/tern" --known tests/data/windows_expected_failures.txt --may-pass "$@" | tee "$work/log"
  add "$work/log"
}
for cases in programs results quantized; do conform "$data/$cases"; done
for cases in models conformance; do conform --every "$every" "$data/$cases"; done
# bits CASES: results of --reproducible equal those of the command of this system.
bits() {
  build/tern conform --reproducible --no-table --save-bits "$work/bits.txt" "$1" >/dev/null
  tests/scripts/conform.py --tern "$work/tern" --known tests/data/reproducible_expected_failures.txt --may-pass \
    --check-bits "$work/bits.txt" "$1" | tee "$work/log"
  add "$work/log"
}
for cases in programs results quantized; do bits "$data/$cases"; done

# Programs of another compiler link tern.dll by its C interface; paths have spaces and letters of all scripts.
stage=$(ls -d dist/tern-*-windows-x86_64.zip | tail -n 1)
there="$work/with spaces/größe 模型"
mkdir -p "$there"
python3 -m zipfile -e "$stage" "$work/unpacked"
installed=$(echo "$work"/unpacked/*)
in_c() {
  x86_64-w64-mingw32-gcc -std=c99 -Wall -Wextra -Werror -I"$installed/include" tests/consumer/main.c -L"$installed/lib" -ltern \
    -o "$there/consumer.exe" && cp "$installed"/bin/*.dll "$there"
}
try 'a program in C links tern.dll' in_c
try 'the command exports to a path with Unicode' "$wine" "$installed/bin/tern.exe" export examples/digits/digits.pt2 -o "$there/模型.tern"
# Without a manifest the program's arguments have the system's code page.
cp "$there/模型.tern" "$there/digits.tern"
run_in_c() { (cd "$there" && "$wine" consumer.exe digits.tern); }
try 'the program in C runs' run_in_c
report
