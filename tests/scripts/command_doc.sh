#!/usr/bin/env bash
# command_doc.sh [--check] BUILD: writes docs/command.md from the command's output, or checks the page.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
doc=docs/command.md
if [[ $1 != --check ]]; then
  "$1/tern" pages --markdown >"$doc.new"
  mv "$doc.new" "$doc"
  exit
fi
"$2/tern" pages --markdown | diff "$doc" - || { echo "FAIL $doc is out of date: ./dev command writes it anew" && exit 1; }
