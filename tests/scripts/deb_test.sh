#!/usr/bin/env bash
# Makes the Debian packages, checks them with lintian, and installs them in a Debian 12 made by debootstrap: the command
# and its plugins work, the README's C++ example builds and gives PyTorch's result (debian/tests/readme-example), and
# removal leaves no file. Needs root. TERN_DEBIAN_MIRROR names another mirror; `none` skips the bare system. TERN_DEBS
# names a folder with ready packages.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
. "$(dirname "${BASH_SOURCE[0]}")/bare_system.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
root=$PWD/build/bare/deb
debs=${TERN_DEBS:-dist}
if [[ ${TERN_BARE_INSIDE:-} != "$$" ]]; then
  mkdir -p build
  [[ ${TERN_DEBS:-} ]] || ./dev package deb >build/deb.log 2>&1 || { tail -n 20 build/deb.log; exit 1; }
  ((EUID == 0)) || { printf 'FAIL it needs root: debootstrap and chroot do\n0 passed, 1 failed\n'; exit 1; }
  in_own_namespace "$root" "${BASH_SOURCE[0]}"
  exit
fi
trap 'exit 130' INT TERM HUP

# Debian's checker, with no exceptions except the packages' own overrides.
clean() { lintian --fail-on error,warning --tag-display-limit 0 "$debs"/tern_*.changes; }
# Each program and library: no run path, no writable table of addresses, position independent, checked calls of the C library.
hardened() {
  local deb file text unpacked=$root-unpacked status=0
  rm -rf "$unpacked" && mkdir -p "$unpacked"
  for deb in "$debs"/*.deb; do dpkg-deb -x "$deb" "$unpacked" || return 1; done
  while read -r file; do
    [[ $(file -b "$file") == ELF* && $file != */debug/* ]] || continue
    text=$(readelf -WhdlS "$file") # read completely: grep -q ends a pipe early, and pipefail reports a failure
    grep -qE '\(R(UN)?PATH\)' <<<"$text" && echo "$file has a run path" && status=1
    grep -qE 'FLAGS.*NOW' <<<"$text" || { echo "$file binds lazily" && status=1; }
    grep -q GNU_RELRO <<<"$text" || { echo "$file is without RELRO" && status=1; }
    grep -q 'Type:.*DYN' <<<"$text" || { echo "$file is at a fixed address" && status=1; }
    grep -q '\.symtab' <<<"$text" && echo "$file has symbols" && status=1
  done < <(find "$unpacked" -type f)
  for file in "$unpacked"/usr/bin/tern "$unpacked"/usr/lib/*/libtern.so.*.*.*; do
    text=$(nm -D "$file")
    grep -q __stack_chk_fail <<<"$text" || { echo "$file has no stack protector" && status=1; }
    grep -qE '__(memcpy|memset|read|snprintf|fread|memmove)_chk' <<<"$text" || { echo "$file is without FORTIFY_SOURCE" && status=1; }
  done
  rm -rf "$unpacked"
  return $status
}
install() {
  mkdir "$root/srv/debs" && cp "$debs"/*.deb "$root/srv/debs" && rm -f "$root"/srv/debs/*-dbgsym_*.deb &&
    cp -r --parents examples/cpp examples/digits debian/tests "$root/srv" && inside "$root" 'apt-get -qq update' &&
    inside "$root" 'apt-get -qq install --no-install-recommends ./debs/*.deb' >"$root.install.log" 2>&1 ||
    { tail -n 20 "$root.install.log"; return 1; }
}
# Plugins load from their own folder; a machine without such a device gets a message.
plugins() {
  inside "$root" 'tern devices' | tee "$root.devices"
  local plugin
  for plugin in xpu cuda rocm; do
    grep -q " /usr/lib/[^ ]*-linux-gnu/tern/devices/libtern_$plugin.so" "$root.devices" || return 1
  done
  ! grep -qE 'No plugin|cannot open|undefined symbol' "$root.devices"
}
# The library also finds its neighbouring files: each engine runs a group with a single rank.
engines() {
  inside "$root" 'RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=29600 \
    tern run digits.tern --random --size s34=2 --group gloo' &&
    inside "$root" 'TERN_GROUP_ADDRESS=127.0.0.1:29610 mpirun --allow-run-as-root -np 1 -x TERN_GROUP_ADDRESS \
      tern run digits.tern --random --size s34=2 --group mpi' &&
    printf '%s\n' '#include <tern/collective.h>' '#include <cstdio>' \
      'int main() { for (const auto& e : tern::group_engines()) std::printf("%s %s\n", e.path.c_str(), e.problem.c_str()); }' \
      >"$root/srv/engines.cpp" &&
    inside "$root" 'g++ engines.cpp $(pkg-config --cflags --libs tern) -o engines && ./engines' | tee "$root.engines" &&
    [[ $(grep -cE '^/usr/lib/[^ ]*-linux-gnu/tern/engines/libtern_(gloo|mpi)\.so $' "$root.engines") == 2 ]]
}
view() { inside "$root" 'timeout 5 tern view digits.tern --no-browser'; [[ $? == 124 ]]; }
builds() {
  inside "$root" 'apt-get -qq install --no-install-recommends cmake g++ pkg-config make openmpi-bin' >"$root.compilers.log" 2>&1 ||
    { tail -n 5 "$root.compilers.log"; return 1; }
  inside "$root" 'debian/tests/readme-example'
}
pages() { inside "$root" 'test -s /usr/share/man/man1/tern-run.1.gz && test -s /usr/share/bash-completion/completions/tern'; }
nothing_left() {
  inside "$root" 'for p in $(cd debs && ls | cut -d _ -f 1); do dpkg -L $p; done | sort -u >owned
    apt-get -qq remove $(cd debs && ls | cut -d _ -f 1) >/dev/null 2>&1 || exit 1
    for p in $(cd debs && ls | cut -d _ -f 1); do ! dpkg-query -s $p >/dev/null 2>&1 || exit 1; done
    while read -r f; do [ -d $f ] && continue; [ -e $f ] && echo "$f is left" && exit 1; done <owned
    ! find / -xdev -path /srv -prune -o -path /proc -prune -o -path /sys -prune -o -path /var/cache -prune -o -iname "*libtern*" -print | grep .
    ldconfig -p | grep libtern && exit 1 || exit 0'
}
try 'lintian is silent' clean
try 'hardened, without run paths and symbols' hardened
if [[ ${TERN_DEBIAN_MIRROR:-} != none ]]; then
  try 'debootstrap' bare_debian12 "$root" ca-certificates
  try 'apt install' install
  try 'tern --version' inside "$root" 'tern --version'
  try 'tern export' inside "$root" 'tern export examples/digits/digits.pt2 -o digits.tern'
  try 'tern validate' inside "$root" 'tern validate digits.tern'
  try 'tern run' inside "$root" 'tern run digits.tern --random --size s34=2'
  try 'plugins are found and load' plugins
  try 'tern view serves' view
  try 'man pages, completion' pages
  try "the README's C++ example" builds
  try 'engines are found by command and library, and run' engines
  try 'apt remove leaves nothing' nothing_left
fi
report
