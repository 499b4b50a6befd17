#!/usr/bin/env python3
"""Tests ./dev gpu-check: the whole of it on an emulated GPU with few cases, and what no emulated device shows.

  gpu_check_test.py [BUILD [RUNTIME...]]      a build folder, and runtimes of device.sh: build cuda
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import counted
import gpu_check_convolutions
import gpu_check_solvers
from gpu_check import counted as step_of
from gpu_check_device import Device, no_device
from gpu_check_report import every_th, write
from gpu_check_speed import measure
from gpu_check_step import Done, Step, call

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else ROOT / "build").absolute()
RUNTIMES = [sys.argv.pop(1) for _ in sys.argv[1:]] or ["cuda"]
# The script beside the build folder, with the emulated drivers.
DEVICE = BUILD.parent / "tests/scripts/device.sh"
CASES = {"programs": ("pt29_cond_nested.*", "pt215_map.*"), "models": ("timm-mobilenetv3.*",), "conformance": ("add/f32_0.*",)}
ENTRY = {"name": "cuda:0", "description": "NVIDIA X100", "driver": "CUDA 13.5", "units": 1, "memory_bytes": 2**30,
         "extensions": [], "kernel_targets": ["cuda:sm_90", "cuda:ptx"]}
STUB = """#!/bin/sh
case $* in *--graph*) echo 'no graphs here'; exit 1 ;; esac
echo '{"latency_ms": {"p50": 2.5000}}'
"""


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.holder.name)

    def tearDown(self):
        self.holder.cleanup()


class Whole(WithFolder):
    """The command on emulated devices."""

    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        for name, patterns in CASES.items():
            for pattern in patterns:
                for file in (BUILD / "test-data" / name).glob(pattern):
                    to = self.data / name / file.relative_to(BUILD / "test-data" / name)
                    to.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, to)

    def check(self, runtime, *options, out="report.md"):
        report = self.folder / out
        command = [DEVICE, runtime, ROOT / "tests/scripts/gpu_check.py", "--build", BUILD, "--data", self.data, "--device",
                   runtime, "--every", "1", "--minutes", "60", "--out", report, *options]
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, check=False)
        return done, report.read_text() if report.exists() else ""

    def rows(self, report):
        """{step: (result, passed, failed)}"""
        rows = [[c.strip() for c in line.strip("|").split("|")] for line in report.splitlines() if line.startswith("|")]
        return {r[0]: (r[1], int(r[2]), int(r[3])) for r in rows if len(r) == 5 and r[2].isdigit()}

    def test_every_step_runs_and_the_report_says_that_the_device_is_emulated(self):
        for runtime in RUNTIMES:
            with self.subTest(runtime):
                done, report = self.check(runtime, out=f"{runtime}.md")
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertIn("**Emulated**", report)
                rows = self.rows(report)
                self.assertEqual(rows["speed"], ("not measured: the device is emulated", 0, 0))
                expected = {"conform, programs": 2, "conform, models": 1, "conform, conformance": 1, "programs as graphs": 2,
                            "same bits as the CPU": 1, "an archive of all targets": 1,
                            f"kernels in the archive, {'cuda:ptx' if runtime == 'cuda' else 'rocm:gfx942'}": 2}
                for name, passed in expected.items():
                    self.assertEqual(rows[name], ("passed", passed, 0), name)
                self.assertGreater(rows["streams, events, graphs"][1], 10)
                self.assertEqual(rows["solvers"], ("passed", 5, 0))
                skipped = ("not run: it is for NVIDIA's GPUs", 0, 0)
                self.assertEqual(rows["convolutions"], ("passed", 6, 0) if runtime == "cuda" else skipped)
                total = f"{sum(r[1] for r in rows.values())} passed, 0 failed"
                self.assertEqual(done.stdout.splitlines()[-1], total)
                self.assertEqual(report.splitlines()[-1], total)
                self.assertNotIn(str(self.folder), report)

    def test_a_step_that_fails_is_told_and_does_not_stop_the_others(self):
        model = next((self.data / "models").glob("*.pt2"))
        model.write_bytes(model.read_bytes()[:1000])
        done, report = self.check(RUNTIMES[0])
        rows = self.rows(report)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(rows["conform, models"], ("failed", 0, 1))
        self.assertEqual(rows["an archive of all targets"], ("failed", 0, 1))
        self.assertEqual(rows["conform, conformance"], ("passed", 1, 0))
        self.assertIn("FAIL models/timm-mobilenetv3", done.stdout)
        self.assertIn("FAIL models/timm-mobilenetv3", report.split("## Failures")[1])
        self.assertTrue(done.stdout.splitlines()[-1].endswith(" passed, 2 failed"), done.stdout)


class Parts(WithFolder):
    def test_a_command_that_takes_too_long_ends_with_its_children(self):
        start = time.monotonic()
        done = call(["sh", "-c", "echo begun; sleep 60 & wait"], 0.5)
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(done.output, "begun\n")
        self.assertIn("longer", done.wrong)
        self.assertEqual(call(["sh", "-c", "kill -SEGV $$"], 20).wrong, "died of SIGSEGV")

    def test_only_a_count_without_failures_and_a_good_end_passes(self):
        wanted = {("5 passed, 0 failed", ""): (5, 0), ("FAIL a\n4 passed, 1 failed", "exit status 1"): (4, 1),
                  ("5 passed, 0 failed", "died of SIGABRT"): (5, 1), ("0 passed, 0 failed", ""): (0, 1), ("", ""): (0, 1),
                  ("half", "took longer"): (0, 1)}
        for (output, wrong), counts in wanted.items():
            step = step_of("s", Done(output, wrong))
            self.assertEqual((step.passed, step.failed), counts, output)
            self.assertEqual(bool(step.failures), counts[1] > 0)

    def test_convolutions_with_a_faster_engine_are_told(self):
        line = "= resnet50 1 float32 64x56x56>64,3x3/1,g1 plain: 30.00 us taken, 20.00 best (A 7 engine 70); fused: 21.00 taken, 20.00 best (A 5 engine 44)"
        rows = gpu_check_convolutions.sums(["resnet50 1 float32 ... taken", line])
        self.assertEqual(gpu_check_convolutions.slower(rows),
                         ["resnet50 1 float32 64x56x56>64,3x3/1,g1 plain: 30.00 µs, 20.00 by A 7 engine 70"])

    def test_rows_of_solvers_choose_what_was_fastest(self):
        # A single matrix: Tern's, then `large`; many: `small` from 16 on, Tern's again at 64. Ties go to Tern.
        times = {(16, 1): (1, 2, 2), (64, 1): (4, 5, 2), (16, 999): (4, 3, 9), (32, 999): (4, 1, 9), (64, 999): (4, 3.9, 3.9)}
        rows = gpu_check_solvers.rows_of(times)
        self.assertEqual(rows, [(64, 1, "kLarge"), (16, 16, "kSmall"), (64, 16, "kOwn")])
        for (side, count), milliseconds in times.items():
            self.assertEqual(gpu_check_solvers.chosen(rows, side, count), gpu_check_solvers.winner(milliseconds))
        lines = ["lu s 32 1 2 1 2", "lu d 32 1 2 1 2", "lu z 32 1 2 2 2", "qr z 32 1 2 2 1"]
        self.assertEqual(gpu_check_solvers.table(lines), ['{lu, "sd", 32, 1, kSmall},', '{qr, "z", 32, 1, kLarge},'])

    def test_a_device_that_is_missing_is_explained(self):
        listed = {"devices": [], "problems": [{"plugin": "/x/libtern_cuda.so", "problem": "no driver"},
                                              {"plugin": "/x/libtern_rocm.so", "problem": "no HIP"}]}
        self.assertIsNone(Device.find(listed, None))
        self.assertEqual(no_device(listed, "cuda"), "there is no device cuda here\n  libtern_cuda.so: no driver")
        self.assertIn("no HIP", no_device(listed, None))
        self.assertIn("not built", no_device({"devices": [], "problems": []}, "rocm"))

    def test_a_gpu_is_not_called_emulated(self):
        device = Device("cuda", ENTRY, False)
        write(self.folder / "r.md", device, [], [Step("a|b", 1, 1, ["x`y"])], 10, 1)
        report = (self.folder / "r.md").read_text()
        self.assertNotIn("mulated", report)
        self.assertIn("| a\\|b | failed | 1 | 1 | 0 |", report)
        self.assertEqual(device.targets, ["cuda:sm_90", "cuda:ptx"])
        self.assertRegex(device.file_name(), r"^cuda-nvidia-x100-\d{4}-\d\d-\d\d\.md$")
        self.assertEqual([every_th(n) for n in (1, 2, 10, 11, 23)], ["every", "every 2nd", "every 10th", "every 11th", "every 23rd"])

    def test_speeds_stand_in_a_table_and_a_bench_that_fails_is_a_failure(self):
        stub = self.folder / "tern"
        stub.write_text(STUB)
        stub.chmod(0o755)
        (self.folder / "hf-qwen2.pt2").touch()
        step = measure(str(stub), Device("cuda", ENTRY, False), self.folder, self.folder, 60)
        self.assertEqual(step.table[2].split("|")[1:4], [" hf-qwen2 ", " 2.500 ", " - "], json.dumps(step.table))
        self.assertEqual((step.passed, step.failed), (1, 1))
        self.assertIn("no graphs here", step.failures[0])


if __name__ == "__main__":
    counted.main()
