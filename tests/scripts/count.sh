# shellcheck shell=bash
# Sourced by the test scripts: counts named checks. Ends with `report`, whose line the gate adds up.
passed=0
failed=0

# try NAME COMMAND...: one check, passed when the command ends well.
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

# add LOG: adds what the last line of another script's output says, or one failure where it says nothing.
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
