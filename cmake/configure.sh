#!/usr/bin/env bash
# configure.sh PRESET FOLDER [OPTION...]: runs cmake if FOLDER is not configured yet, or if an input of cmake has
# changed: packages, compiler, toolkits, presets, the path of the checkout. Ninja itself tracks CMakeLists.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1
folder=$2
shift 2
stamp=$folder/configured.txt

# Lists all inputs cached by cmake, one per line.
state() {
  printf 'source %s\npreset %s %s\n' "$PWD" "$preset" "$*"
  cksum CMakePresets.json
  if command -v dpkg-query >/dev/null; then
    printf 'packages '
    # shellcheck disable=SC2016
    dpkg-query -W -f '${db:Status-Status} ${binary:Package} ${Version}\n' | cksum
  fi
  # Tools and toolkits may be installed without a package.
  local tool
  for tool in cmake ninja c++ clang++ flatc ccache mold pkg-config nvcc hipcc; do
    printf '%s %s\n' "$tool" "$(command -v "$tool" || echo none)"
  done
  c++ --version 2>/dev/null | head -n 1 || true
  ls -d /usr/local/cuda* /opt/rocm* /opt/intel/oneapi/compiler/* /usr/local/include/CL 2>/dev/null || true
  # Packages from PyPI, installed by './dev setup devices' and './dev setup python'.
  cksum build/device-tools/requirements.txt build/python-tools/requirements.txt 2>/dev/null || true
  local variable
  for variable in CMAKE_PREFIX_PATH PKG_CONFIG_PATH CUDAToolkit_ROOT CUDA_PATH ROCM_PATH; do
    printf '%s=%s\n' "$variable" "${!variable:-}"
  done
}

now=$(state "$@")
fresh=(--fresh)
if [[ -f $folder/build.ninja ]]; then
  [[ -f $stamp && $now == "$(cat "$stamp")" ]] && exit
  # Keeps the options of a folder configured by hand.
  [[ ! -f $stamp ]] && grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt" && fresh=()
fi
version=$(cmake --version | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
if [[ $(printf '3.25\n%s\n' "$version" | sort -V | head -n 1) != 3.25 ]]; then
  echo "cmake 3.25 or later is needed; this one is ${version:-unknown}. Debian 12, Ubuntu 24.04 and PyPI have it." >&2
  exit 1
fi
mkdir -p "$folder"
echo 'not finished' >"$stamp"
command=(cmake "${fresh[@]}" --preset "$preset" -B "$folder" "$@" --log-level=WARNING)
# Prints only errors without a terminal.
if [[ -t 1 ]]; then "${command[@]}"; else "${command[@]}" >/dev/null; fi
printf '%s\n' "$now" >"$stamp"
