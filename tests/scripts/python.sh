#!/usr/bin/env bash
# Tests the Python package with the module in a build folder: python.sh FOLDER [--full] [ARG...], ARG to pytest.
# TERN_PYTHON names another interpreter of the same version. Tests with torch need torch in the interpreter; --full uses
# the interpreter installed by ./dev bench peers, if present. TERN_TEST_FULL, set for --full, adds all programs and
# models of the test data, and timings.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
folder=$1
shift
full=''
[[ ${1:-} == --full ]] && full=1 && shift
python=${TERN_PYTHON:-build/python-tools/bin/python}
[[ $full && ! ${TERN_PYTHON:-} && -x build-bench/venv/bin/python ]] && python=build-bench/venv/bin/python
if ! compgen -G "$folder/python/tern/_tern*.so" >/dev/null; then
  echo "FAIL the Python module was not built: run './dev setup python', then './dev build tern_python'"
  printf '0 passed, 1 failed\n'
  exit 1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# An interpreter with torch need not have pytest.
tools=$(echo "$PWD"/build/python-tools/lib/python3*/site-packages)
PYTHONPATH="$PWD/$folder/python:$tools" PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -p no:cacheprovider -rfE --tb=short \
  python/tests "$@" 2>&1 | tee "$log" | sed -E 's/^FAILED /FAIL /'
last=$(grep -E '(passed|failed|error)' "$log" | tail -n 1)
count() { grep -oE "[0-9]+ $1" <<<"$last" | cut -d ' ' -f 1 | grep . || echo 0; }
passed=$(count passed)
failed=$(($(count failed) + $(count 'errors?')))
report
