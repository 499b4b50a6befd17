#!/usr/bin/env bash
# Builds the packages twice and compares them byte for byte: reproducible_build.sh [--objects N] [tarball|deb|wheel ...]
#   --objects N   compile N objects of the release and of the Debian packages, and all generated sources, instead of everything
# The two builds differ in folder, its length, time of day, time zone, language, umask and number of compilers. Both run
# without ccache: sharing an object between the builds would hide a difference. REPRODUCIBLE_WORK names a folder to
# keep.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
objects=0
kinds=()
while (($#)); do
  case $1 in
    --objects) objects=${2:?--objects takes a number} && shift ;;
    tarball | deb | wheel) kinds+=("$1") ;;
    *) echo 'usage: reproducible_build.sh [--objects N] [tarball|deb|wheel ...]' >&2 && exit 2 ;;
  esac
  shift
done
((${#kinds[@]})) || kinds=(tarball deb wheel)
work=${REPRODUCIBLE_WORK:-$(mktemp -d)}
[[ ${REPRODUCIBLE_WORK:-} ]] || trap 'rm -rf "$work"' EXIT
first=$work/one
second=$work/another/folder_with-a.longer+name/two # dpkg-buildflags maps no path with other characters
export CCACHE_DISABLE=1
unset SOURCE_DATE_EPOCH
in_first() { (cd "$first" && umask 022 && env TZ=UTC LC_ALL=C "$@"); }
in_second() { (cd "$second" && umask 002 && env TZ=Asia/Kathmandu LC_ALL=C.UTF-8 TERN_JOBS=1 "$@"); }
for folder in "$first" "$second"; do
  rm -rf "$folder" && mkdir -p "$folder"
  git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --ignore-failed-read -cf - | tar -xf - -C "$folder"
  git -C "$folder" init --quiet && git -C "$folder" add --all
done

# same FILE: of both folders.
same() {
  cmp "$first/$1" "$second/$1" && return
  if command -v diffoscope >/dev/null; then diffoscope --max-report-size 20000 "$first/$1" "$second/$1" | head -n 60; fi
  return 1
}

make_package() {
  local command=(./dev package "$1")
  [[ $1 == wheel ]] && command=(./dev wheel)
  "${command[@]}" >"$1.log" 2>&1 || { tail -n 20 "$1.log"; return 1; }
}
whole() {
  local kind file
  for kind in "${kinds[@]}"; do
    try "$kind, first build" in_first bash -c "$(declare -f make_package); make_package $kind"
    try "$kind, second build" in_second bash -c "$(declare -f make_package); make_package $kind"
  done
  # The build record names its folder and variables.
  for file in "$first"/dist/*; do
    [[ -f $file && $file != *.buildinfo && $file != *.changes ]] && try "${file##*/} is the same" same "dist/${file##*/}"
  done
}

# sample FOLDER FLAGS...: configures, generates sources, and compiles every n-th object.
sample() {
  local folder=$1 all
  shift
  cmake --preset release -B "$folder" "$@" --log-level=WARNING >/dev/null || return
  all=$(ninja -C "$folder" -t targets all | sed -n 's/^\([^:]*\.cpp\.o\): .*/\1/p' | LC_ALL=C sort)
  awk -v n="$objects" -v all="$(wc -l <<<"$all")" 'int(NR * n / all) > int((NR - 1) * n / all)' <<<"$all" >"$folder/sample.txt"
  xargs nice ninja -C "$folder" -j "${TERN_JOBS:-$(nproc)}" --quiet <"$folder/sample.txt"
}
debian_flags() { # as debhelper's
  local hardened=(DEB_BUILD_MAINT_OPTIONS=hardening=+all)
  env "${hardened[@]}" dpkg-buildflags --get CXXFLAGS | tr '\n' ' '
  env "${hardened[@]}" dpkg-buildflags --get CPPFLAGS
}
parts() {
  local file flavour
  for flavour in release debian; do
    local options=(-DTERN_BUILD_EXAMPLES=ON)
    for side in in_first in_second; do
      [[ $flavour == debian ]] && options=(-DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS=$($side debian_flags)")
      try "$flavour, $side" $side sample "build-$flavour" "${options[@]}"
    done
    while read -r file; do
      try "$flavour: ${file#*/CMakeFiles/} is the same" same "$file"
    done < <(cd "$first" && sed "s|^|build-$flavour/|" "build-$flavour/sample.txt" && find "build-$flavour/generated" -type f)
  done
}
if ((objects)); then parts; else whole; fi
report
