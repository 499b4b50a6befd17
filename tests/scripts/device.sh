#!/usr/bin/env bash
# device.sh intel|pocl COMMAND...: runs the command with this OpenCL runtime alone as xpu.
# device.sh cuda|rocm COMMAND...: with emulated GPUs (tests/gpu) for the plugins cuda and rocm.
# device.sh cubin COMMAND...: like cuda, but kernels are machine code; the emulated driver has their PTX.
# device.sh metal COMMAND...: with an emulated Apple GPU for the plugin metal, beside the device narrow (the host
# without float64).
# device.sh example COMMAND...: with the device of examples/device, built first.
set -euo pipefail
runtime=$1
shift
# The summary of the tests shows the text after FAIL.
needs() { [[ -e $1 ]] || { echo "FAIL $2 is not installed: './dev setup devices' installs it from $3" && exit 2; }; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
case $runtime in
  intel)
    needs "$root/build/device-tools/vendors/intel.icd" "Intel's OpenCL runtime" PyPI
    export OCL_ICD_VENDORS=$root/build/device-tools/vendors
    LD_LIBRARY_PATH=$(realpath "$root/build/device-tools")/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    ;;
  pocl)
    needs /etc/OpenCL/vendors/pocl.icd PoCL 'the package pocl-opencl-icd'
    mkdir -p "$root/build/opencl-pocl/vendors"
    cp -f /etc/OpenCL/vendors/pocl.icd "$root/build/opencl-pocl/vendors/"
    export OCL_ICD_VENDORS=$root/build/opencl-pocl/vendors
    export POCL_CACHE_DIR=$root/build/opencl-pocl/cache
    # Workers of PoCL 5.0 (Ubuntu 24.04) now and then race with each other while kernels are compiled, and abort.
    export POCL_MAX_PTHREAD_COUNT=1
    ;;
  cuda | cubin | rocm)
    emulation=$root/build/gpu-emulation
    library=$([[ $runtime == rocm ]] && echo libamdhip64.so.7 || echo libcuda.so.1)
    needs "$emulation/$library" "what the emulated GPUs need (cuda.h, clang-19, HIP's headers)" \
      "PyPI and the archive; './dev build' builds them then"
    export LD_LIBRARY_PATH=$emulation:$emulation/libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export OCL_ICD_VENDORS=$emulation/no-vendors # no OpenCL at the same time
    TERN_NVRTC=$(find -L "$root/build/device-tools/lib" -name 'libnvrtc.so.*' -print -quit)
    export TERN_NVRTC
    # Most tests are about Tern's kernels: the vendors' libraries, or their stand-ins, only on request.
    export TERN_CUDA_LIBRARIES=${TERN_CUDA_LIBRARIES:-0} TERN_ROCM_LIBRARIES=${TERN_ROCM_LIBRARIES:-0}
    export TERN_EMULATOR_CACHE=$emulation/cache TERN_EMULATOR_DEVICES=${TERN_EMULATOR_DEVICES:-2}
    # The emulated driver runs PTX, not machine code: NVRTC makes PTX, or both.
    if [[ $runtime == cubin ]]; then
      export TERN_EMULATOR_NVRTC=$TERN_NVRTC TERN_NVRTC=$emulation/libtern_nvrtc.so TERN_EMULATOR_CUBINS=$emulation/cubins
    else
      export TERN_CUDA_PTX=1
    fi
    ;;
  metal)
    emulation=$root/build/gpu-emulation
    needs "$emulation/metal/libtern_metal.so" "what emulated Metal needs (metal-cpp, clang)" \
      "PyPI and the archive; './dev build' builds it then"
    export TERN_DEVICE_PATH=$emulation/metal
    export OCL_ICD_VENDORS=$emulation/no-vendors TERN_EMULATOR_CACHE=$emulation/cache
    ;;
  example)
    mkdir -p "$root/build/test-devices"
    export TERN_DEVICE_PATH=$root/build/test-devices/example_device.so
    g++ -std=c++17 -O2 -shared -fPIC -I"$root/include" "$root/examples/device/device.cpp" -o "$TERN_DEVICE_PATH"
    ;;
  *)
    echo "device.sh: no runtime '$runtime'" >&2
    exit 2
    ;;
esac
[[ $runtime == intel || $runtime == pocl ]] && needs "$root/build/devices/libtern_xpu.so" 'the toolkit of the plugin xpu' \
  'the packages opencl-headers and ocl-icd-opencl-dev'
export TERN_CACHE=$root/build/device-cache
exec "$@"
