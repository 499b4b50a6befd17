#!/usr/bin/env bash
# Runs every unit test program of a build folder, one per core, and counts: unit.sh FOLDER
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
folder=$1
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# The longest program is run in shards, which the cores share.
shards_of() {
  if [[ $1 == */test_kernels ]]; then echo 4; else echo 1; fi
}

# The last line of a run's log is its exit status.
run() {
  local program=$1 shard=$2 status=0 log
  log=$logs/$(basename "$program").$shard
  GTEST_TOTAL_SHARDS=$(shards_of "$program") GTEST_SHARD_INDEX=$shard "$program" --gtest_color=no >"$log" 2>&1 || status=$?
  printf '\n%d\n' "$status" >>"$log"
}

programs=()
for program in "$folder"/test_*; do
  # Starts the longest program first.
  if [[ ! -f $program || ! -x $program ]]; then continue; fi
  if [[ $program == */test_kernels ]]; then programs=("$program" "${programs[@]}"); else programs+=("$program"); fi
done
runs=()
for program in "${programs[@]}"; do
  for ((shard = 0; shard < $(shards_of "$program"); ++shard)); do runs+=("$program $shard"); done
done
for item in "${runs[@]}"; do
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
  run "${item% *}" "${item##* }" &
done
wait

for item in "${runs[@]}"; do
  program=${item% *}
  log=$logs/$(basename "$program").${item##* }
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
