#!/usr/bin/env python3
"""Gives the text of every portable kernel that some cases need to the compilers of all five dialects.

  compilers.py --tern TERN --texts PLUGIN [--dtype f32] [--most N] [--compiler NAME]... FOLDER...

PLUGIN (tests/device_texts/plugin.cpp) keeps the texts when `tern conform` prepares the cases for a device of each dialect.
--dtype takes the cases of one element type, --most so many texts of each kernel, --compiler only the named ones:
  cpp     the C++ compiler (CXX, else g++)
  opencl  clang to LLVM, llvm-spirv to SPIR-V, checked by spirv-val
  cuda    NVRTC to machine code for sm_90; of NVRTC_LIBRARY, else the first found of PyPI's and the CUDA Toolkit's
  hip     clang-19 to assembly for gfx942, with Debian's headers and device libraries
  metal   a syntax check alone: clang over tests/device_texts/metal; no compiler of Apple's has seen the texts
"""
import argparse
import collections
import concurrent.futures
import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIALECTS = ["cpp", "opencl", "cuda", "hip", "metal"]  # ordered like tern/device.h
HIP_LIBRARIES = ["/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/usr/lib/llvm-17/lib/clang/17/amdgcn/bitcode"]  # Debian 12, Ubuntu 24.04
HIP = ["/usr/lib/llvm-19/bin/clang", "-x", "hip", "--offload-arch=gfx942", "--rocm-path=/usr", "--cuda-device-only", "-std=c++17",
       "-ffp-contract=off", "-O1", "-w"]  # fmt: skip
# Debian 12's device libraries are older than gfx942, and lack the library with the ISA number.
HIP_NUMBER = """target triple = "amdgcn-amd-amdhsa"
@__oclc_ISA_version = linkonce_odr protected unnamed_addr addrspace(4) constant i32 9402, align 4
"""
# As exporter/kernels/spirv.cpp.
OPENCL = ["-x", "cl", "-cl-std=CL1.2", "-target", "spir64-unknown-unknown", "-Xclang", "-finclude-default-header",
          "-Xclang", "-fdeclare-opencl-builtins", "-O2", "-Xclang", "-disable-llvm-passes", "-ffp-contract=off", "-emit-llvm", "-c", "-w"]  # fmt: skip


def clang():
    """The one that Debian's device libraries and llvm-spirv are made with, where it is there."""
    return shutil.which("clang-15") or "clang"


def say(command):
    """What the command complains about; nothing where all is well."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return "" if result.returncode == 0 else result.stdout or f"{command[0]} ended with {result.returncode}"


def cpp(text, _):
    return say([os.environ.get("CXX", "g++"), "-x", "c++", "-std=c++17", "-w", "-fsyntax-only", str(text)])


def opencl(text, work):
    bitcode, module = work / f"{text.stem}.bc", work / f"{text.stem}.spv"
    error = say([clang(), *OPENCL, str(text), "-o", str(bitcode)])
    error = error or say(["llvm-spirv-15", "--spirv-max-version=1.0", "--spirv-fp-contract=off", str(bitcode), "-o", str(module)])
    error = error or say(["spirv-val", "--target-env", "opencl2.1", str(module)])
    for file in (bitcode, module):
        file.unlink(missing_ok=True)
    return error


def hip_command(work, *arguments):
    return say([*HIP, f"--rocm-device-lib-path={work / 'amdgcn'}", *arguments])


def hip(text, work):
    # Compiles the headers once, not for every source.
    return hip_command(work, "-S", "-Xclang", "-include-pch", "-Xclang", str(work / "hip.pch"), str(text), "-o", "/dev/null")


def hip_headers(work):
    libraries = work / "amdgcn"
    libraries.mkdir()
    folder = next((f for f in map(pathlib.Path, HIP_LIBRARIES) if f.is_dir()), None)
    if folder is None:
        return f"AMD's device libraries are in none of {', '.join(HIP_LIBRARIES)}: './dev setup devices' installs them"
    for library in folder.glob("*.bc"):
        (libraries / library.name).symlink_to(library)
    error = ""
    made = libraries / "oclc_isa_version_942.bc"
    if not made.exists():
        number = work / "number.ll"
        number.write_text(HIP_NUMBER)
        # Compiled by the same compiler as the other libraries; the newer compiler reads its output.
        error = say(["clang-15", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-w", "-c", "-emit-llvm", "-x", "ir", str(number), "-o", str(made)])
    (work / "hip.h").write_text("#include <hip/hip_runtime.h>\n")
    pch = ["-fsyntax-only", "-Xclang", "-emit-pch", "-Xclang", "-o", "-Xclang", str(work / "hip.pch"), str(work / "hip.h")]
    return error or hip_command(work, *pch)


@functools.cache
def nvrtc():
    places = [os.environ.get("NVRTC_LIBRARY"), *sorted((ROOT / "build").glob("device-tools/lib/python*/site-packages/nvidia/*/lib/libnvrtc.so.*")),
              "/usr/local/cuda/lib64/libnvrtc.so", "libnvrtc.so"]  # fmt: skip
    for place in filter(None, places):
        try:
            return ctypes.CDLL(str(place))
        except OSError:
            pass
    raise OSError("no libnvrtc: ./dev setup devices installs it")


def cuda(text, _):
    library = nvrtc()
    program = ctypes.c_void_p()
    options = [b"--gpu-architecture=sm_90", b"-std=c++17", b"--fmad=false", b"-w"]
    library.nvrtcCreateProgram(ctypes.byref(program), text.read_bytes(), b"kernel.cu", 0, None, None)
    status = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    log = b""
    if status != 0:
        size = ctypes.c_size_t()
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        library.nvrtcGetProgramLog(program, buffer)
        log = buffer.value or b"status %d" % status
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return log.decode()


def metal(text, _):
    shim = ROOT / "tests/device_texts/metal"
    return say([clang(), "-x", "c++", "-std=c++14", "-fsyntax-only", "-w", "-D__METAL_VERSION__=210", f"-I{shim}", str(text)])


def keep_texts(arguments, dialect, cases, folder):
    folder.mkdir()
    environment = dict(os.environ, TERN_DEVICE_PATH=str(arguments.texts.resolve()), TERN_TEXTS=str(folder))
    device = f"texts:{DIALECTS.index(dialect)}"
    command = [arguments.tern, "conform", "--no-table", "--failures", "0", "--device", device, *map(str, cases)]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)  # its results are meaningless
    texts = collections.defaultdict(list)
    for text in sorted(folder.iterdir()):
        texts[text.name.split("-")[0]].append(text)
    return texts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tern", required=True)
    parser.add_argument("--texts", type=pathlib.Path, required=True)
    parser.add_argument("--dtype")
    parser.add_argument("--most", type=int)
    parser.add_argument("--compiler", action="append", choices=DIALECTS)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()

    cases = arguments.folders
    if arguments.dtype:
        cases = sorted(case for folder in cases for case in folder.rglob(f"{arguments.dtype}_*.pt2"))
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ProcessPoolExecutor() as pool:
        work = pathlib.Path(name)
        for dialect in arguments.compiler or DIALECTS:
            kernels = keep_texts(arguments, dialect, cases, work / dialect)
            texts = [text for several in kernels.values() for text in several[: arguments.most]]
            error = hip_headers(work) if dialect == "hip" else ""
            if error or not texts:
                failed += 1
                print(f"FAIL {dialect}: {error or 'no texts'}")
                continue
            errors = list(pool.map(globals()[dialect], texts, [work] * len(texts), chunksize=8))
            for text, error in zip(texts, errors):
                if error:
                    print(f"FAIL {dialect} {text.stem}: {error[:600]}")
            failed += sum(map(bool, errors))
            passed += len(errors) - sum(map(bool, errors))
            print(f"{dialect}: {len(texts)} texts of {len(kernels)} kernels")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
