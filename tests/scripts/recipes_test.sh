#!/usr/bin/env bash
# The recipes of packaging/: Conan makes the package with this system's libraries and runs its test package; vcpkg's
# manifest has vcpkg's format, and its portfile runs over stand-ins (vcpkg_stand_ins.cmake). recipes_test.sh BUILD
# [--vcpkg]: --vcpkg skips Conan, which compiles everything again.
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

conan_tools() {
  local list=packaging/conan/requirements.txt venv=build/conan-tools
  cmp -s "$list" "$venv/requirements.txt" && return
  python3 -m venv --clear "$venv" && "$venv/bin/pip" install --quiet --no-deps --requirement "$list" &&
    cp "$list" "$venv/requirements.txt"
}
conan_creates() {
  CONAN_HOME=$work/conan nice build/conan-tools/bin/conan create packaging/conan --profile:all packaging/conan/debian12.profile \
    -c "tools.cmake.cmake_layout:test_folder=$work/test" -c "tools.build:jobs=${TERN_JOBS:-$(nproc)}" >"$work/conan.log" 2>&1 || { tail -n 30 "$work/conan.log"; return 1; }
  # PyTorch's logits for a black image: debian/tests/readme-example.
  grep -qx -e '-5.262' "$work/conan.log" && grep -qx -e '1.243' "$work/conan.log"
}
manifest() {
  python3 - <<'PY'
import json, re, sys
manifest = json.load(open("packaging/vcpkg/tern/vcpkg.json"))
header = open("include/tern/version.h").read()
version = ".".join(re.findall(r"^#define TERN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header, re.M))
assert manifest["version"] == version, f"vcpkg.json is of {manifest['version']}, include/tern/version.h of {version}"
name = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
def check(dependencies):
    names = [d if isinstance(d, str) else d["name"] for d in dependencies]
    assert all(map(name.fullmatch, names)), names
    assert names == sorted(names), f"vcpkg format-manifest sorts {names}"
check(manifest["dependencies"])
assert list(manifest["features"]) == sorted(manifest["features"])
for feature, value in manifest["features"].items():
    assert name.fullmatch(feature) and value["description"]
    check(value["dependencies"])
PY
}
# portfile FEATURES LINKAGE
portfile() {
  rm -rf "$work/vcpkg"
  cmake "-DFEATURES=$1" "-DVCPKG_LIBRARY_LINKAGE=$2" "-DINSTALLED=$build" "-DWORK=$work/vcpkg" \
    -P tests/scripts/vcpkg_stand_ins.cmake
}
whole() {
  portfile 'core;command;dnnl;openblas' dynamic && test -x "$work/vcpkg/packages/tools/tern/tern" &&
    test -s "$work/vcpkg/packages/share/tern/usage" && test ! -e "$work/vcpkg/packages/lib/libtern.a" &&
    grep -q 'TERN_WITH_DNNL:.*=ON' "$work/vcpkg/build/CMakeCache.txt"
}
small() {
  portfile core static && test -s "$work/vcpkg/packages/lib/libtern.a" && test ! -e "$work/vcpkg/packages/tools" &&
    grep -qE 'TERN_SHARED:.*=(OFF|FALSE|0)' "$work/vcpkg/build/CMakeCache.txt" &&
    grep -q 'TERN_WITH_DNNL:.*=OFF' "$work/vcpkg/build/CMakeCache.txt"
}
if [[ ${2:-} != --vcpkg ]]; then
  try 'conan is installed' conan_tools
  try 'conan create' conan_creates
fi
try 'vcpkg.json' manifest
try 'the portfile with all features' whole
try 'the portfile with none, static' small
report
