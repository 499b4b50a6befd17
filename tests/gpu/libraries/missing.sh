#!/usr/bin/env bash
# Reports of `tern devices` about libraries that are missing, too new for the driver, or disabled: missing.sh TERN.
# Needs the emulated CUDA driver (tests/scripts/device.sh cuda).
set -uo pipefail
tern=$1
# shellcheck source=tests/scripts/count.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/count.sh"
# says TEXT VARIABLE=VALUE...: expects TEXT in the line about cuda's libraries.
says() {
  local text=$1
  shift
  env TERN_CUDA_LIBRARIES=1 "$@" "$tern" devices | grep -A 1 '^cuda:0 ' | grep -F -- "$text"
}
try 'the libraries are used' says 'cuBLASLt 13.1.0; cuDNN 9.19.0' TERN=1
try 'no file' says 'cuBLASLt is missing: no library /nowhere/lt.so; install it with' TERN_CUBLASLT=/nowhere/lt.so
try 'no cuDNN' says 'cuDNN is missing: no library /nowhere/dnn.so; install NVIDIA' TERN_CUDNN=/nowhere/dnn.so
try 'a cuDNN without attention' says 'cuDNN 9.10.1 (attention needs 9.10.2)' TERN_STAND_IN_CUDNN=91001
try 'a device without attention' says 'cuDNN 9.19.0 (attention needs compute capability 8.0)' TERN_EMULATOR_CAPABILITY=7.5
try 'no library of that name' says 'lacks cublasLtCreate' TERN_CUBLASLT=libcudnn.so.9
try 'an old driver' says 'needs a driver of CUDA 13; this one is of CUDA 12' TERN_EMULATOR_DRIVER=12080
try 'no cuSOLVER' says 'cuSOLVER is missing: no library /nowhere/solver.so; install it with' TERN_CUSOLVER=/nowhere/solver.so
try 'no cuBLAS beside it' says 'cuSOLVER 12.0.4 is not used: cuBLAS is missing: no library /nowhere/blas.so' TERN_CUBLAS=/nowhere/blas.so
try 'no solver of that name' says 'libcudnn.so.9 lacks cusolverDnSpotrfBatched; update cuSOLVER' TERN_CUSOLVER=libcudnn.so.9
try 'a solver that is too new' says 'cuSOLVER 12.0.4 (libcusolver.so.12) needs a driver of CUDA 13' TERN_EMULATOR_DRIVER=12080
try 'a cuBLAS that is too new' says 'cuSOLVER 11.0.4 is not used: cuBLAS 13.0.0 (libcublas.so.13) needs a driver of CUDA 13' \
  TERN_EMULATOR_DRIVER=12080 TERN_STAND_IN_CUSOLVER=11
try 'no such routine' says "TERN_CUDA_SOLVER is 'fast', not own, small or large" TERN_CUDA_SOLVER=fast
try 'left out' says 'libraries: TERN_CUDA_LIBRARIES is 0' TERN_CUDA_LIBRARIES=0
report
