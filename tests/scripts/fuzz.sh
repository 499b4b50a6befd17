#!/usr/bin/env bash
# Runs fuzz targets of a build folder: fuzz.sh FOLDER SECONDS [TARGET...], all targets by default. A target's corpus
# grows under FOLDER/corpus; crashing inputs go to FOLDER/findings. TERN_FUZZ_SECONDS sets the time of fuzz_run and
# fuzz_ops.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
folder=$1
seconds=$2
shift 2
mkdir -p "$folder/findings"
if (($# == 0)); then
  for target in "$folder"/fuzz_*; do
    [[ -f $target && -x $target && -f fuzz/$(basename "$target").cpp ]] && set -- "$@" "$(basename "$target")"
  done
fi
for name in "$@"; do
  mkdir -p "$folder/corpus/$name"
  if [[ $name == fuzz_run && ! -d $folder/seeds ]]; then
    ASAN_OPTIONS=detect_leaks=0 fuzz/seeds.sh "$folder/tern" "$folder/seeds" || try 'seeds of fuzz_run' false
  fi
  arguments=("$folder/corpus/$name")
  [[ -d fuzz/corpus/$name ]] && arguments+=("fuzz/corpus/$name")
  [[ $name == fuzz_run ]] && arguments+=("$folder/seeds")
  [[ -f fuzz/$name.dict ]] && arguments+=("-dict=fuzz/$name.dict")
  # The limits in OSS-Fuzz's format: lines of `name = value`.
  while read -r option _ value; do
    [[ $value ]] && arguments+=("-$option=$value")
  done <"fuzz/$name.options"
  time=$seconds
  [[ $name =~ ^fuzz_(run|ops)$ ]] && time=${TERN_FUZZ_SECONDS:-$seconds}
  log=$folder/findings/$name.log
  if ASAN_OPTIONS=allocator_may_return_null=0:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 OMP_NUM_THREADS=1 \
    "$folder/$name" -max_total_time="$time" -print_final_stats=1 -artifact_prefix="$folder/findings/$name-" "${arguments[@]}" \
    >"$log" 2>&1; then
    passed=$((passed + 1))
    printf '%s: clean, %s runs in %s s\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$time"
  else
    failed=$((failed + 1))
    printf 'FAIL %s: see %s\n' "$name" "$log"
    grep -aE '^(==[0-9]+==ERROR|SUMMARY|.*runtime error|Test unit written|FOUND)' "$log" | head -n 5
  fi
done
report
