#!/usr/bin/env bash
# Runs the parts of `./dev test`, the lines of gate_parts.txt, and adds up their counts: gate.sh [--full] [--only PATTERN]
# --only takes an extended regular expression of names, and builds no more than the targets of these parts.
# gate.sh --list [--full] [--only PATTERN] prints names and commands instead.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
export full='' targets=''
only='' list=''
while (($#)); do
  case $1 in
    --full) full=1 ;;
    --list) list=1 ;;
    --only) only=${2:?--only takes a pattern} && shift ;;
  esac
  shift
done
logs=build/test-logs
start=$SECONDS
[[ -t 1 ]] && terminal=1 || terminal=0

# Tests pack weights whatever an earlier one left; unit tests read TERN_TEST_FULL: corruption at every byte, a file of over
# 5 GB; the others are for programs with sanitizers.
export TERN_WEIGHT_CACHE=off
[[ $full ]] && export TERN_TEST_FULL=1 UBSAN_OPTIONS=print_stacktrace=1 \
  ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 \
  LSAN_OPTIONS=suppressions=$PWD/tests/scripts/leaks.txt:print_suppressions=0

applies() {
  case $1 in
    always | gate) ;;
    quick) [[ ! $full ]] ;;
    full) [[ $full ]] ;;
    tiles) grep -qw amx_tile /proc/cpuinfo ;;
    root) [[ $full ]] && ((EUID == 0)) ;;
    *) echo "gate_parts.txt: no condition '$1'" >&2 && exit 2 ;;
  esac
}

# Reads the table: the parts that run, their results and commands, in order.
macros=() names=() results=() commands=()
while IFS= read -r line; do
  [[ $line && $line != '#'* ]] || continue
  if [[ $line =~ ^([a-z_]+)\ *=\ (.*)$ ]]; then
    macros+=("{${BASH_REMATCH[1]}}" "${BASH_REMATCH[2]}")
    continue
  fi
  IFS='|' read -r name when result needs command <<<"$line"
  read -r when <<<"$when"
  name=${name%"${name##*[! ]}"}
  { [[ $name =~ $only || $when == *always* ]] && applies "$when"; } || continue
  # A macro may hold those above it.
  for ((i = ${#macros[@]} - 2; i >= 0; i -= 2)); do command=${command//"${macros[i]}"/"${macros[i + 1]}"}; done
  names+=("$name") results+=("$result") commands+=("$command")
  [[ $when == always ]] || targets+=" $needs"
done <tests/scripts/gate_parts.txt
targets=$(tr -s ' ' '\n' <<<"${targets//-/}" | sort -u | xargs)
if [[ ! $only || " $targets " == *' all '* ]]; then targets=''; else targets=${targets:-tern}; fi
if [[ $list ]]; then
  for i in "${!names[@]}"; do printf '%s |%s|%s\n' "${names[i]}" "${results[i]}" "${commands[i]}"; done
  exit
fi

log_of() { echo "$logs/${1//[^a-z0-9]/-}.log"; }
check() {
  # shellcheck source=tests/scripts/count.sh
  (. tests/scripts/count.sh && try "$1" bash -c "$2" && report)
}
# run_part NAME RESULT COMMAND: its output goes to a log, its counts to a file; shows the end of the log when something failed.
run_part() {
  local name=$1 log begin=$SECONDS status=0 last p=0 f=0
  log=$(log_of "$name")
  ((terminal)) && printf '%-28s ...\r' "$name"
  if [[ $2 == *check* ]]; then check "$name" "$3"; else bash -c "$3"; fi >"$log" 2>&1 || status=$?
  last=$(tail -n 1 "$log")
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]}
    # A command that says that all is well and does not end well has failed.
    ((status == 0 || f > 0)) || f=1
  else
    f=1
  fi
  echo "$p $f" >"$log.counts"
  # One write, so that the lines of two parts do not mix.
  printf '%s\n' "$(
    printf '%-28s %6d passed %5d failed %6d s\n' "$name" "$p" "$f" "$((SECONDS - begin))"
    if ((f > 0)); then
      { grep -aE '^(FAIL|\[  FAILED  \] |ERROR)' "$log" | sort -u | head -n 40 || true; } | sed 's/^/    /'
      [[ $last =~ passed,\ [0-9]+\ failed$ ]] || tail -n 25 "$log" | sed 's/^/    /'
      printf '    (all of it: %s; exit status %d)\n' "$log" "$status"
    fi
  )"
}

# Where somebody stops this script, the parts stop too.
trap 'exit 130' INT TERM
trap 'kill $(jobs -rp) 2>/dev/null' EXIT
[[ $only ]] || rm -rf "$logs"
mkdir -p "$logs"
for i in "${!names[@]}"; do
  rm -f "$(log_of "${names[i]}").counts"
  if [[ ${results[i]} == *'&'* ]]; then
    while (($(jobs -rp | wc -l) >= ${TERN_JOBS:-$(nproc)})); do wait -n; done
    run_part "${names[i]}" "${results[i]}" "${commands[i]}" &
  else
    wait
    run_part "${names[i]}" "${results[i]}" "${commands[i]}"
  fi
done
wait

passed=0 failed=0
for name in "${names[@]}"; do
  # A part that left no counts was killed.
  read -r p f <"$(log_of "$name").counts" || { p=0 f=1; }
  passed=$((passed + p)) failed=$((failed + f))
done
printf '%s parts in %d s\n' "${#names[@]}" "$((SECONDS - start))"
printf '%d passed, %d failed\n' "$passed" "$failed" | tee "$logs/total.txt"
((failed == 0))
