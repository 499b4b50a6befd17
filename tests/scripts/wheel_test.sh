#!/usr/bin/env bash
# Makes the wheel, and installs it in a Debian 12 that debootstrap makes, with Python and nothing else: the README's lines of
# Python give what the README says, which is PyTorch's result (python/tests/test_torch.py). Needs root, and PyPI for NumPy.
# TERN_DEBIAN_MIRROR names another mirror; `none` leaves the bare system out.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
root=$PWD/build/bare/python
# All mounts are in a namespace of this script's own, so that they end with it and nothing can delete through them.
if [[ ${TERN_BARE_INSIDE:-} != "$$" ]]; then
  ./dev wheel >build/wheel.log 2>&1 || { tail -n 20 build/wheel.log; exit 1; }
  tail -n 1 build/wheel.log
  [[ ${TERN_DEBIAN_MIRROR:-} == none ]] && printf '1 passed, 0 failed\n' && exit
  ((EUID == 0)) || { printf 'FAIL it needs root: debootstrap and chroot do\n1 passed, 1 failed\n'; exit 1; }
  rm -rf --one-file-system "$root"
  status=0
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child --propagation private -- \
    bash -c 'TERN_BARE_INSIDE=$$ exec "$0"' "${BASH_SOURCE[0]}" || status=$?
  rm -rf --one-file-system "$root"
  exit $status
fi
trap 'exit 130' INT TERM HUP
wheel=$(sed -nE 's/^(dist\/.*\.whl), .*/\1/p' build/wheel.log)
try 'the wheel is made' test -s "$wheel"

bare() {
  ./dev setup bare || return
  local mirror=${TERN_DEBIAN_MIRROR:-}
  grep -qx ID=debian /etc/os-release && [[ -z $mirror ]] &&
    mirror=$(sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *(http[^ ]*\/debian)\/?( .*)?$/\3/p' /etc/apt/sources.list \
      /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1)
  mkdir -p "$(dirname "$root")"
  debootstrap --variant=minbase --include=python3-venv bookworm "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 ||
    { tail -n 5 "$root.log"; return 1; }
  mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev"
}
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv chroot "$root" bash -c "cd /srv && $1" </dev/null; }
# NumPy comes along: there is no network inside.
install() {
  mkdir "$root/srv/wheels" && cp "$wheel" "$root/srv/wheels/" && cp -r --parents examples/digits "$root/srv/" &&
    build/python-tools/bin/pip download --quiet --no-deps --only-binary=:all: --python-version 3.11 --dest "$root/srv/wheels" \
      "$(grep '^numpy==' python/requirements.txt)" &&
    inside 'python3 -m venv here && here/bin/pip install --quiet --no-index --find-links wheels tern'
}
# The README's block of Python that imports tern, and the line below it.
lines() { awk '/^```python$/ {block = ""; on = 1; next} /^```$/ {if (on && block ~ /numpy, tern/) printf "%s", block; on = 0} on {block = block $0 "\n"}' README.md; }
says_what_the_readme_says() {
  lines >"$root/srv/lines.py"
  inside 'here/bin/python lines.py' >"$root/srv/out.txt" || return
  cat "$root/srv/out.txt"
  grep -qxF "    $(cat "$root/srv/out.txt")" README.md
}
try 'debootstrap' bare
try 'pip install' install
try 'no library but those of a bare system' inside \
  '! ldd here/lib/python3*/site-packages/tern/*.so here/lib/python3*/site-packages/tern/devices/*.so | grep "not found"'
try "the README's lines" says_what_the_readme_says
try 'tern --version' inside 'here/bin/tern --version'
report
