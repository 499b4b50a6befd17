# shellcheck shell=bash
# Sourced by the test scripts: counts named checks. Scripts end with `report`; the tests add up its line.
passed=0
failed=0

# try NAME COMMAND...: a check, passed if the command succeeds.
try() {
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAIL %s\n' "$name"
  fi
}

# add LOG: adds the counts in the last line of another script's output, or a failure without such a line.
add() {
  if [[ $(tail -n 1 "$1") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
  else
    failed=$((failed + 1))
    printf 'FAIL %s ends without a count\n' "$1"
  fi
}

report() {
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0 && passed > 0))
}
