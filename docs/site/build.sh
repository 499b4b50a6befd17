#!/usr/bin/env bash
# build.sh [FOLDER]: the pages and the public headers as HTML in FOLDER (build/site). Warnings are errors. `./dev site` runs
# it, after it has installed Doxygen, and Sphinx in build/site-tools.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=${1:-build/site}
doxygen docs/site/Doxyfile
rm -rf "$folder"
build/site-tools/bin/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env --builder html --conf-dir docs/site \
  --doctree-dir build/site-work/doctrees . "$folder"
