#!/usr/bin/env bash
# Runs every unit test program of a build folder, one per core, and counts: unit.sh FOLDER
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
folder=$1
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# The last line of a program's log is its exit status.
run() {
  local status=0 name
  name=$(basename "$1")
  "$1" --gtest_color=no >"$logs/$name" 2>&1 || status=$?
  printf '\n%d\n' "$status" >>"$logs/$name"
}

programs=()
for program in "$folder"/test_*; do
  # Starts the longest program first.
  if [[ ! -f $program || ! -x $program ]]; then continue; fi
  if [[ $program == */test_kernels ]]; then programs=("$program" "${programs[@]}"); else programs+=("$program"); fi
done
for program in "${programs[@]}"; do
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
  run "$program" &
done
wait

for program in "${programs[@]}"; do
  log=$logs/$(basename "$program")
  status=$(tail -n 1 "$log")
  ok=$(grep -ac '^\[       OK \] ' "$log")
  bad=$(grep -acE '^\[  FAILED  \] .* \([0-9]+ ms\)$' "$log")
  # A crash ends the program inside a test, reported neither OK nor FAILED.
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
done
report
