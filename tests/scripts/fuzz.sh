#!/usr/bin/env bash
# Runs each fuzz target of a build folder: fuzz.sh FOLDER SECONDS. Its corpus grows under FOLDER/corpus; what crashes it
# lies under FOLDER/findings. Seeds are the project's own archives and programs.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
folder=$1
seconds=$2
mkdir -p "$folder/findings"
for target in "$folder"/fuzz_*; do
  [[ -f $target && -x $target ]] || continue
  name=$(basename "$target")
  mkdir -p "$folder/corpus/$name"
  seeds=()
  [[ -d tests/fuzz/corpus/$name ]] && seeds+=("tests/fuzz/corpus/$name")
  log=$folder/findings/$name.log
  if ASAN_OPTIONS=allocator_may_return_null=0:detect_leaks=1 OMP_NUM_THREADS=1 \
    "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$folder/findings/$name-" "$folder/corpus/$name" "${seeds[@]}" >"$log" 2>&1; then
    passed=$((passed + 1))
    printf '%s: clean, %s runs in %s s\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$seconds"
  else
    failed=$((failed + 1))
    printf 'FAIL %s: see %s\n' "$name" "$log"
    grep -aE '^(==[0-9]+==ERROR|SUMMARY|.*runtime error|Test unit written)' "$log" | head -n 5
  fi
done
report
