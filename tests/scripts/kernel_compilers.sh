#!/usr/bin/env bash
# Vendors' compilers at export: only the target's plugin is loaded, and a crashing or hanging compiler causes an error
# with its name, not the end of the command. kernel_compilers.sh BUILD
set -uo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/count.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
tern=$(realpath "$1/tern")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export TERN_CACHE=$out/cache
digits=(export examples/digits/digits.pt2 -o "$out/digits.tern" --size s34=1)

# ends STATUS TEXT COMMAND...: checks the exit status, and TEXT in either output stream.
ends() {
  local status=$1 text=$2 got=0
  shift 2
  "$@" >"$out/log" 2>&1 || got=$?
  [[ $got == "$status" ]] && grep -qF -- "$text" "$out/log" && return
  printf '%s: status %s, not %s, or without "%s":\n' "$*" "$got" "$status" "$text"
  head -n 20 "$out/log"
  return 1
}

# Plugins of other names are not loaded: this plugin ends the process.
mkdir "$out/plugins"
echo '#include <cstdlib>
__attribute__((constructor)) static void loaded() { std::abort(); }' | c++ -x c++ -shared -fPIC - -o "$out/plugins/libtern_bomb.so"
export TERN_DEVICE_PATH=$out/plugins
try 'devices are apart: run' ends 0 'float32' "$tern" run examples/digits/digits.pt2 --random --size s34=1
try 'devices are apart: another device' ends 2 "there is no device 'nothing'" "$tern" run examples/digits/digits.pt2 --random \
  --size s34=1 --device nothing
try 'targets are apart' ends 2 "unknown target 'nothing:x'" "$tern" "${digits[@]}" --target nothing:x
try 'targets of the plugin are listed' ends 2 'cuda:sm_90' "$tern" "${digits[@]}" --target cuda:sm_91
try 'devices: a plugin that crashes is told' ends 0 'libtern_bomb.so' "$tern" devices
try 'devices --json' python3 -c 'import json, subprocess, sys
listed = json.loads(subprocess.run([sys.argv[1], "devices", "--json"], stdout=subprocess.PIPE, check=True).stdout)
assert any("libtern_bomb" in p["plugin"] and "crashed" in p["problem"] for p in listed["problems"]), listed' "$tern"

# A compiler library of CUDA or HIP that runs DOES while compiling.
fake_library() {
  local prefix=$1 does=$2
  printf '%s\n' '#include <cstdlib>' '#include <unistd.h>' 'extern "C" {' \
    "int ${prefix}Version(int* a, int* b) { *a = 13; *b = 0; return 0; }" \
    "int ${prefix}CreateProgram(void** p, const char*, const char*, int, const char**, const char**) { *p = p; return 0; }" \
    "int ${prefix}CompileProgram(void*, int, const char**) { $does; return 0; }" \
    "int ${prefix}GetCUBINSize(void*, unsigned long* n) { *n = 0; return 0; }" \
    "int ${prefix}GetCUBIN(void*, char*) { return 0; }" \
    "int ${prefix}GetCodeSize(void*, unsigned long* n) { *n = 0; return 0; }" \
    "int ${prefix}GetCode(void*, char*) { return 0; }" \
    "int ${prefix}GetProgramLogSize(void*, unsigned long* n) { *n = 24; return 0; }" \
    "int ${prefix}GetProgramLog(void*, char* s) { __builtin_strcpy(s, \"line one\\n\\033[31mline two\"); return 0; }" \
    "int ${prefix}DestroyProgram(void**) { return 0; }" '}' |
    c++ -x c++ -shared -fPIC - -o "$out/$prefix.so"
}
for vendor in 'nvrtc NVRTC TERN_NVRTC cuda:sm_90' 'hiprtc hiprtc TERN_HIPRTC rocm:gfx90a'; do
  read -r prefix name variable target <<<"$vendor"
  fake_library "$prefix" 'std::abort()'
  try "$name crashes" ends 5 "$name crashed (Aborted) while compiling" env "$variable=$out/$prefix.so" "$tern" "${digits[@]}" --target "$target"
  try "$name crashes: what to do" grep -qF "set the library of another $name in $variable" "$out/log"
  fake_library "$prefix" 'for (;;) pause()'
  try "$name hangs" ends 5 "$name did not finish within 1 s" env "$variable=$out/$prefix.so" TERN_COMPILER_SECONDS=1 "$tern" "${digits[@]}" --target "$target"
  fake_library "$prefix" 'return 6'
  try "$name refuses a kernel: all lines" ends 5 '\x1b[31mline two' env "$variable=$out/$prefix.so" "$tern" "${digits[@]}" --target "$target"
  try "$name refuses a kernel: as lines" bash -c '! grep -qF "\x0a" "$1"' _ "$out/log"
  try "$name is missing" ends 5 "$name is missing: no library $out/none.so; install it, or set its path in $variable" env "$variable=$out/none.so" \
    "$tern" "${digits[@]}" --target "$target"
  try 'nothing is written' test ! -e "$out/digits.tern"
done

# Programs.
mkdir "$out/bin"
tool() {
  printf '#!/bin/sh\n%s\n' "$2" >"$out/bin/$1"
  chmod +x "$out/bin/$1"
}
tool llvm-spirv-15 'exit 0'
export PATH=$out/bin:$PATH
# shellcheck disable=SC2016
tool clang-15 'kill -SEGV $$'
try 'clang crashes' ends 5 'clang-15 crashed (Segmentation fault) while compiling' "$tern" "${digits[@]}" --target xpu:spirv
tool clang-15 'sleep 100'
try 'clang hangs' ends 5 'clang-15 did not finish within 1 s' env TERN_COMPILER_SECONDS=1 "$tern" "${digits[@]}" --target xpu:spirv
# shellcheck disable=SC2016
tool clang-15 'for word; do last=$word; done; echo "error in ${last%/*}/kernel.cl"; exit 1'
try 'clang refuses' ends 5 'clang-15 failed (status 1) while compiling' "$tern" "${digits[@]}" --target xpu:spirv
try 'no temporary name' bash -c '! grep -q tern-kernel- "$1"' _ "$out/log"
try 'TERN_COMPILER_SECONDS' ends 2 "takes a whole number of seconds" env TERN_COMPILER_SECONDS=x "$tern" "${digits[@]}" --target xpu:spirv
rm -r "$out/bin"
try 'no process is left' bash -c '! pgrep -f "$1/bin/clang-15"' _ "$out"

# Everything installed by ./dev setup devices in a single process: PoCL, Intel's runtime, hiprtc and NVRTC.
unset TERN_DEVICE_PATH
vendors=$out/vendors
mkdir "$vendors"
cp /etc/OpenCL/vendors/*.icd build/device-tools/vendors/intel.icd "$vendors/" 2>/dev/null
export OCL_ICD_VENDORS=$vendors
LD_LIBRARY_PATH=$(realpath build/device-tools)/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
TERN_NVRTC=$(find -L build/device-tools/lib -name 'libnvrtc.so.*' -print -quit)
export LD_LIBRARY_PATH TERN_NVRTC
for target in rocm:gfx90a cuda:sm_90 xpu:spirv; do
  try "$target beside other vendors" ends 0 "$target: " "$tern" "${digits[@]}" --target "$target"
done
try 'all targets in one export' ends 0 'rocm:gfx90a: ' "$tern" "${digits[@]}" --target xpu:spirv,cuda:sm_90,rocm:gfx90a
try 'devices of all vendors' ends 0 'xpu:0' "$tern" devices
report
