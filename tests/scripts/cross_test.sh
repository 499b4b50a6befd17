#!/usr/bin/env bash
# Builds Tern for another system and runs cases with its command: cross_test.sh TARGET EVERY. Runs all programs, and every
# EVERY-th case of models and of the conformance set.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
# shellcheck source=tests/scripts/count.sh
. tests/scripts/count.sh
target=$1
every=$2
data=build/test-data
folder=build/cross/$target/tern
./dev cross "$target" || exit
needs_no_loader() { ! readelf -l "$folder/tern" | grep -q INTERP; }
try 'the command is static' needs_no_loader
log=$(mktemp)
conform() {
  tests/scripts/conform.py --tern "$folder/tern" --known tests/data/musl_expected_failures.txt --may-pass "$@" | tee "$log"
  add "$log"
}
conform "$data/programs"
conform --every "$every" "$data/models"
conform --every "$every" "$data/conformance"
rm -f "$log"
report
