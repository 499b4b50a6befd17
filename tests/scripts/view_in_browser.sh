#!/usr/bin/env bash
# The page of tern view in Chromium, which this installs: view_in_browser.sh FOLDER PROGRAMS
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
./dev setup view
exec tests/scripts/view_browser.py --tern "$1/tern" --programs "$2"
