#!/usr/bin/env python3
"""gpu_versions_test.py BUILD: versions of drivers, compilers and GPUs that do not go together, on emulated GPUs. Each error
names what is there, what is needed, and the way out."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import counted

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build")
PROGRAM = sorted((BUILD / "test-data/programs").glob("*linear*.pt2")) or sorted((BUILD / "test-data/programs").glob("*.pt2"))


def run(gpu, *options, device=None, program=PROGRAM[0], **environment):
    """Runs a program on the GPU, or on a device of it: exit status, what it printed, and the driver's counters."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        # A separate cache: cached kernels would need no compiler.
        settings = {"TERN_EMULATOR_REPORT": str(report), "TERN_CACHE": folder} | environment
        # device.sh sets the cache and the compiler; `env` after device.sh overrides both.
        command = [str(word) for word in (HERE / "device.sh", gpu, "env", *(f"{name}={value}" for name, value in settings.items()),
                   BUILD / "tern", "run", program, "--random", "--device", device or gpu, *options)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
        counters = json.loads(report.read_text()) if report.exists() else {}
        return done.returncode, done.stdout + done.stderr, counters.get("calls_by_name", {})


class Versions(unittest.TestCase):
    """Each test: one version that does not fit."""

    def refused(self, text, *words):
        for word in words:
            self.assertIn(word, text)

    def test_plugins_are_loaded_on_request_only(self):
        status, text, calls = run("cuda", TERN_DEVICE_AUTOLOAD=0)
        self.assertNotEqual(status, 0, text)
        self.assertEqual(calls, {})
        plugin = next(BUILD.rglob("libtern_cuda.so"))
        status, text, calls = run("cuda", TERN_DEVICE_AUTOLOAD=0, TERN_DEVICE_PATH=plugin.resolve())
        self.assertEqual(status, 0, text)
        self.assertGreater(calls["cuInit"], 0)

    def test_an_older_driver_than_the_compiler(self):
        status, text, _ = run("cuda", TERN_EMULATOR_DRIVER=12060)
        self.assertNotIn(status, (0, -6, -11))
        self.refused(text, "NVRTC 13", "580.65.06", "580.88", "CUDA 12.6", "TERN_NVRTC")

    def test_ptx_newer_than_the_driver(self):
        # Machine code of NVRTC 13.5 loads on every driver of CUDA 13 (minor version compatibility), PTX does not.
        status, text, calls = run("cubin", device="cuda", TERN_EMULATOR_DRIVER=13000, TERN_CUDA_PTX=1)
        self.assertEqual(status, 0, text)
        self.assertGreater(calls["cuModuleLoadDataEx"], 0)

    def test_a_gpu_newer_than_the_compiler(self):
        status, text, _ = run("cuda", TERN_EMULATOR_CAPABILITY="13.0", TERN_CUDA_PTX=0)
        self.assertEqual(status, 0, text)
        status, text, _ = run("cuda", TERN_EMULATOR_CAPABILITY="13.0", TERN_CUDA_PTX=0, TERN_EMULATOR_DRIVER=13000)
        self.assertNotEqual(status, 0)
        self.refused(text, "NVRTC 13", "compute capability 13.0", "driver of CUDA 13.0", "TERN_NVRTC")

    def test_ptx_of_an_archive_is_newer_than_the_driver(self):
        with tempfile.TemporaryDirectory() as folder:
            archive = pathlib.Path(folder) / "a.tern"
            export = [HERE / "device.sh", "cuda", BUILD / "tern", "export", PROGRAM[0], "--target", "cuda:ptx", "-o", archive]
            subprocess.run([str(word) for word in export], check=True, capture_output=True)
            status, text, _ = run("cuda", "--native-code", program=archive, TERN_EMULATOR_DRIVER=13000, TERN_NO_COMPILE=1)
        self.assertNotEqual(status, 0)
        self.refused(text, "PTX 9.", "driver of CUDA 13.0", "--target cuda:sm_90")

    def test_gpus_that_a_toolkit_dropped(self):
        for capability, toolkit in (("6.0", "12.6"), ("7.0", "12.6"), ("3.5", "11.8")):
            status, text, _ = run("cuda", TERN_EMULATOR_CAPABILITY=capability, TERN_CUDA_PTX=0)
            self.assertNotEqual(status, 0)
            self.refused(text, f"this device has {capability}", f"NVRTC of CUDA {toolkit}", "TERN_NVRTC")

    def test_no_compiler(self):
        status, text, _ = run("cuda", TERN_NVRTC="/nonexistent/libnvrtc.so")
        self.assertNotEqual(status, 0)
        self.refused(text, "NVRTC is missing", "/nonexistent/libnvrtc.so", "TERN_NVRTC")

    def test_a_driver_without_parts(self):
        status, text, _ = run("cuda", "--units", 8, TERN_EMULATOR_DRIVER=12040)
        self.assertNotEqual(status, 0)
        self.refused(text, "part")

    def test_memory_by_pieces_from_rocm_7_2_on(self):
        for version, maps in (("7.2", True), ("7.1", False), ("6.4", False)):
            status, text, calls = run("rocm", TERN_EMULATOR_HIP_VERSION=version)
            self.assertEqual(status, 0, text)
            self.assertEqual(calls.get("hipMemMap", 0) > 0, maps, version)

    def test_parts_of_gpus(self):
        for gpu, function in (("cuda", "cuGreenCtxStreamCreate"), ("rocm", "hipExtStreamCreateWithCUMask")):
            status, text, calls = run(gpu, "--units", 12, "--queues", 2, "--graph")
            self.assertEqual(status, 0, text)
            self.assertGreater(calls.get(function, 0), 0)
            status, text, _ = run(gpu, "--units", 5000)
            self.assertNotEqual(status, 0)
            self.refused(text, "5000 multiprocessors")


class SeveralGpus(unittest.TestCase):
    """Two devices: each stands for itself."""

    def test_one_is_used_exclusively(self):
        status, text, _ = run("cuda", device="cuda:1", TERN_EMULATOR_BUSY=0)
        self.assertEqual(status, 0, text)
        status, text, _ = run("cuda", device="cuda:0", TERN_EMULATOR_BUSY=0)
        self.assertNotEqual(status, 0)
        self.assertIn("device 0 cannot be used", text)
        self.assertIn("CUDA error 46", text)

    def test_one_is_full(self):
        status, text, _ = run("cuda", device="cuda:0", TERN_EMULATOR_FAIL="cuDevicePrimaryCtxRetain:1")
        self.assertNotEqual(status, 0)
        self.assertIn("CUDA error 2", text)

    def test_one_reports_no_architecture(self):
        status, text, _ = run("rocm", device="rocm:1", TERN_EMULATOR_FAIL="hipGetDevicePropertiesR0600:1")
        self.assertEqual(status, 0, text)
        status, text, _ = run("rocm", device="rocm:0", TERN_EMULATOR_FAIL="hipGetDevicePropertiesR0600:1")
        self.assertNotEqual(status, 0)
        self.assertIn("device 0 cannot be used", text)

    def test_a_run_on_one_retains_no_other(self):
        status, text, calls = run("cuda", device="cuda:1")
        self.assertEqual(status, 0, text)
        self.assertEqual(calls["cuDevicePrimaryCtxRetain"], 1)


if __name__ == "__main__":
    counted.main()
