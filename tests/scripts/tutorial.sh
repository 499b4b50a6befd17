#!/usr/bin/env bash
# Follows docs/tutorial.md step by step: writes its files, runs its commands, and compares their output with the page.
# tutorial.sh FOLDER: the build to install. The page's Python runs if `${PYTHON:-python3}` has torch; else
# examples/tutorial/tutorial.pt2 replaces its result.
#
# A line before a block gives the kind of the block: <!-- file NAME -->, <!-- run -->, <!-- run in the sources -->, <!--
# run with torch -->, <!-- prints --> (the whole output of the previous command) or <!-- inspect prints --> (some
# lines).
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
sources=$PWD
folder=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home
mkdir -p "$HOME" "$work/steps" "$work/here"

# Each marked block as a file: steps/NN.md holds the marker, steps/NN.txt the block.
awk -v to="$work/steps" '
  /^<!-- .* -->$/ { marker = $0; next }
  /^```/ && !inside && marker != "" {
    inside = 1; name = sprintf("%s/%02d", to, ++count); print marker > (name ".md"); printf "" > (name ".txt"); marker = ""; next
  }
  /^```$/ && inside { inside = 0; next }
  inside { print > (name ".txt") }' docs/tutorial.md

has_torch() { command -v "${PYTHON:-python3}" >/dev/null && "${PYTHON:-python3}" -c 'import torch' 2>/dev/null; }
printed() { diff "$work/printed" "$1"; }
some_printed() {
  local line
  while IFS= read -r line; do
    grep -qxF -- "$line" "$work/printed" || { echo "did not print: $line"; return 1; }
  done <"$1"
}
# Runs the commands in order in a single shell, as a reader types them: exports last.
in_page() {
  (
    cd "$work/here" || exit
    # shellcheck disable=SC1091
    [[ -f $work/exports ]] && . "$work/exports"
    set -e
    . "$1"
    export -p >"$work/exports"
  ) >"$work/printed" 2>"$work/errors" || { cat "$work/printed" "$work/errors"; return 1; }
}
installs() {
  sed "s|cmake --install build |cmake --install '$folder' |" "$1" >"$work/install"
  (cd "$sources" && . "$work/install") >/dev/null
}
# The Python block, without PyTorch's paths in the file.
trains() { "${PYTHON:-python3}" "$sources/examples/tutorial/make.py" "$work/here" >"$work/printed"; }

for marker in "$work"/steps/*.md; do
  block=${marker%.md}.txt
  what=$(sed 's/^<!-- \(.*\) -->$/\1/' "$marker")
  name="$what: $(head -n 1 "$block")"
  case $what in
    'file '*) try "$name" cp "$block" "$work/here/${what#file }" ;;
    'run in the sources') try "$name" installs "$block" ;;
    'run with torch')
      if has_torch; then
        try "$name" trains
      else
        cp examples/tutorial/tutorial.pt2 "$work/here/"
        cp examples/tutorial/expected.txt "$work/printed"
      fi
      ;;
    run) try "$name" in_page "$block" ;;
    prints) try "$name" printed "$block" ;;
    'inspect prints') try "$name" some_printed "$block" ;;
    *) try "a marker that tutorial.sh knows: $what" false ;;
  esac
done
installed() { [[ -s $HOME/tern/share/doc/tern/$1 ]]; }
for page in README.md SECURITY.md docs/tutorial.md docs/format.md examples/tutorial/tutorial.pt2; do
  try "$page is installed" installed "$page"
done
# The page shows PyTorch's generated text, and the last step prints the same text from C++.
try "PyTorch's text" diff examples/tutorial/expected.txt "$work/printed"
report
