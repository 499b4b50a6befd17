#!/usr/bin/env bash
# Installs Chromium and tests the page of tern view: view_in_browser.sh FOLDER PROGRAMS
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
./dev setup view
exec tests/scripts/view_browser.py --tern "$1/tern" --programs "$2"
