#!/usr/bin/env bash
# Checks that schema/archive.fbs still reads every released archive: flatc --conform against each schema in
# schema/released/.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
for released in schema/released/*.fbs; do
  [[ -f $released ]] || continue
  if flatc --conform "$released" schema/archive.fbs; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL schema/archive.fbs breaks archives of $released"
  fi
done
((passed + failed)) || { echo 'FAIL no released schema in schema/released'; failed=1; }
report
