#!/usr/bin/env bash
# Makes the wheel, and installs it in a Debian 12 made by debootstrap, with Python and nothing else: the README's Python
# lines give the README's output, PyTorch's result (python/tests/test_torch.py). Needs root, and PyPI for NumPy.
# TERN_DEBIAN_MIRROR names another mirror; `none` skips the bare system.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
. "$(dirname "${BASH_SOURCE[0]}")/bare_system.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
root=$PWD/build/bare/python
if [[ ${TERN_BARE_INSIDE:-} != "$$" ]]; then
  ./dev wheel >build/wheel.log 2>&1 || { tail -n 20 build/wheel.log; exit 1; }
  tail -n 1 build/wheel.log
  [[ ${TERN_DEBIAN_MIRROR:-} == none ]] && printf '1 passed, 0 failed\n' && exit
  ((EUID == 0)) || { printf 'FAIL it needs root: debootstrap and chroot do\n1 passed, 1 failed\n'; exit 1; }
  in_own_namespace "$root" "${BASH_SOURCE[0]}"
  exit
fi
trap 'exit 130' INT TERM HUP
wheel=$(sed -nE 's/^(dist\/.*\.whl), .*/\1/p' build/wheel.log)
try 'the wheel is made' test -s "$wheel"

# Includes NumPy: no network inside.
install() {
  mkdir "$root/srv/wheels" && cp "$wheel" "$root/srv/wheels/" && cp -r --parents examples/digits "$root/srv/" &&
    build/python-tools/bin/pip download --quiet --no-deps --only-binary=:all: --python-version 3.11 --dest "$root/srv/wheels" \
      "$(grep '^numpy==' python/requirements.txt)" &&
    inside "$root" 'python3 -m venv here && here/bin/pip install --quiet --no-index --find-links wheels tern'
}
# The README's Python block that imports tern, and the line below the block.
lines() { awk '/^```python$/ {block = ""; on = 1; next} /^```$/ {if (on && block ~ /numpy, tern/) printf "%s", block; on = 0} on {block = block $0 "\n"}' README.md; }
says_what_the_readme_says() {
  lines >"$root/srv/lines.py"
  inside "$root" 'here/bin/python lines.py' >"$root/srv/out.txt" || return
  cat "$root/srv/out.txt"
  grep -qxF "    $(cat "$root/srv/out.txt")" README.md
}
# Every kind of command, including the server of `tern view` from a file of its own.
command_in_full() {
  cat >"$root/srv/view.py" <<'EOF'
import re, subprocess, urllib.request
view = subprocess.Popen(["here/bin/tern", "view", "d.tern", "--no-browser", "--port", "0"], stdout=subprocess.PIPE, text=True)
address = re.search(r"http://\S+", next(line for line in view.stdout if "http://" in line))[0]
page = urllib.request.urlopen(address).read().decode()
view.terminate()
assert "<html" in page.lower(), page[:200]
EOF
  inside "$root" 'set -e; here/bin/tern export examples/digits/digits.pt2 -o d.tern; here/bin/tern run d.tern --random --size s34=1
    here/bin/tern ops softmax; here/bin/tern devices; here/bin/tern inspect d.tern; here/bin/python view.py'
}
try 'debootstrap' bare_debian12 "$root" python3-venv
try 'pip install' install
try 'no library but those of a bare system' inside "$root" \
  '! ldd here/lib/python3*/site-packages/tern/*.so here/lib/python3*/site-packages/tern/devices/*.so | grep "not found"'
try "the README's lines" says_what_the_readme_says
try 'the command in full' command_in_full
try 'tern --version' inside "$root" 'here/bin/tern --version'
report
