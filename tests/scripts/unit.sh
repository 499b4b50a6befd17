#!/usr/bin/env bash
# Runs every unit test program of a build folder and counts: unit.sh FOLDER
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
folder=$1
for program in "$folder"/test_*; do
  [[ -f $program && -x $program ]] || continue
  log=$(mktemp)
  status=0
  "$program" --gtest_color=no >"$log" 2>&1 || status=$?
  ok=$(grep -ac '^\[       OK \] ' "$log")
  bad=$(grep -acE '^\[  FAILED  \] .* \([0-9]+ ms\)$' "$log")
  # A crash ends the program in the middle of a test, which is then neither OK nor FAILED.
  if ((status != 0 && bad == 0)); then
    bad=1
    printf 'FAIL %s ended with status %d in %s\n' "$program" "$status" "$(grep -a '^\[ RUN      \]' "$log" | tail -n 1)"
  fi
  if ((bad > 0)); then
    tail -c 200000 "$log"
  else
    printf '%s: %d passed\n' "$program" "$ok"
  fi
  passed=$((passed + ok))
  failed=$((failed + bad))
  rm -f "$log"
done
report
