#!/usr/bin/env python3
"""Tests what ./dev bench peers does beside running real runtimes: turns, failures, and the report. Standard library alone.

The runtimes here are small programs that speak the same protocol as `tern bench --turns`.
"""
import pathlib
import sys
import tempfile
import time
import unittest

import counted

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from peers import processes, report, turns  # noqa: E402

ANSWERS = "import sys\nfor n, _ in enumerate(sys.stdin): print({}, flush=True)"
SPINS = """import sys, threading, time
def spin(end):
    while time.monotonic() < end: pass
for _ in sys.stdin:
    print(1, flush=True)
    threading.Thread(target=spin, args=(time.monotonic() + {},)).start()"""
DIES = "import os, signal, sys\nsys.stdin.readline()\nprint(5, flush=True)\nsys.stdin.readline()\n{}"


class WithProcesses(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.processes = []

    def tearDown(self):
        for process in self.processes:
            process.close()
        self.folder.cleanup()

    def start(self, program):
        log = pathlib.Path(self.folder.name) / f"{len(self.processes)}.log"
        self.processes.append(processes.TurnProcess([sys.executable, "-c", program], log))
        return self.processes[-1]


class TurnTaking(WithProcesses):
    def test_the_first_run_does_not_count_and_the_median_of_the_others_does(self):
        process = self.start(ANSWERS.format("[100, 3, 9, 4][n % 4]"))
        times, failures, restless = turns.take_turns({"a": process}, 2)
        self.assertEqual((times, failures, restless), ({"a": [4.0, 4.0]}, {}, set()))

    def test_who_comes_first_changes(self):
        self.assertEqual([turns.order("abc", n) for n in range(4)], [list("abc"), list("bca"), list("cab"), list("abc")])
        self.assertEqual(turns.order([], 1), [])

    def test_one_that_dies_leaves_the_others_their_turns(self):
        crash = self.start(DIES.format("os.kill(os.getpid(), signal.SIGSEGV)"))
        raises = self.start(DIES.format("raise ValueError('no such tensor')"))
        times, failures, _ = turns.take_turns({"crash": crash, "raises": raises, "good": self.start(ANSWERS.format(7))}, 3)
        self.assertEqual(times, {"good": [7.0] * 3})
        self.assertIn("killed by SIGSEGV", failures["crash"])
        self.assertIn("status 1: ValueError: no such tensor", failures["raises"])

    def test_a_turn_ends_when_spinning_has(self):
        process = self.start(SPINS.format(0.3))
        process.run_ms()
        start = time.monotonic()
        self.assertTrue(process.rest())
        self.assertGreater(time.monotonic() - start, 0.2)

    def test_one_that_spins_for_ever_is_named(self):
        process = self.start(SPINS.format(1))
        process.run_ms()
        self.assertFalse(process.rest(limit=0.3))

    def test_peak_memory_is_seen_after_it_is_gone(self):
        program = "import sys\nfor _ in sys.stdin:\n  b = bytearray(60_000_000)\n  import time; time.sleep(.1)\n  b = 0\n  print(1, flush=True)"
        process = self.start(program)
        with processes.PeakMemory(process.process.pid) as sampled:
            process.run_ms()
            after = processes.private_bytes(process.process.pid)
        self.assertGreater(sampled.peak - after, 55_000_000)

    def test_a_command_that_fails_says_why(self):
        log = pathlib.Path(self.folder.name) / "call.log"
        with self.assertRaisesRegex(processes.Failed, "status 1: KeyError: 'weight'"):
            processes.call([sys.executable, "-c", "{}['weight']"], log, None)
        with self.assertRaisesRegex(processes.Failed, "more than"):
            processes.call([sys.executable, "-c", "import time; time.sleep(9)"], log, None, limit=0.2)

    def test_quartiles(self):
        self.assertEqual(turns.summary([5, 1, 3, 2, 4]), {"median": 3, "q1": 2, "q3": 4})
        self.assertEqual(turns.summary([5]), {"median": 5, "q1": 5, "q3": 5})


def runtime(ms):
    return {"ms": {"median": ms, "q1": ms - 0.5, "q3": ms + 0.5}, "load_ms": {"median": 12.345}, "before_mb": 30, "peak_mb": 1.5}


def figures():
    return {
        "machine": {"processor": "A Processor", "cores": 2, "memory_gib": 8, "system": "A System", "kernel": "6.1"},
        "versions": {"tern": "1.0", "torch": "2.0"}, "threads": 2, "turns": 15, "loads": 5,
        "titles": {"tern": "Tern", "packed": "Tern, packed", "eager": "PyTorch eager", "ort": "ONNX Runtime", "et": "ExecuTorch"},
        "models": {
            "one": {"what": "1x2", "runtimes": {"tern": runtime(2), "packed": runtime(1), "eager": runtime(8), "ort": runtime(4)}, "failures": {}},
            "two": {"what": "3x4", "runtimes": {"tern": runtime(20), "eager": runtime(10)},
                    "failures": {"ort": "convert: killed by SIGSEGV"}, "others_share": 0.2},
        },
    }


class Report(unittest.TestCase):
    def test_the_best_peer_and_the_mean(self):
        text = report.markdown(figures())
        self.assertIn("| one | 2.00 ±25 % | 1.00 ±50 % | 8.00 ±6 % | 4.00 ±12 % | 0.50 (ONNX Runtime) |", text)
        self.assertIn("| two | 20.0 ±2 % | – | 10.0 ±5 % | – | 2.00 (PyTorch eager) |", text)
        self.assertIn("| geometric mean of 2 |  |  |  |  | 1.00 |", text)
        self.assertIn("| one | 12.3 | 12.3 | 12.3 | 12.3 |", text)
        self.assertIn("| two | 1.50, 31.5 | – | 1.50, 31.5 | – |", text)
        self.assertIn("ONNX Runtime failed at convert: killed by SIGSEGV", text)
        self.assertIn("other programs used 20 % of the processors", text)
        self.assertNotIn("ExecuTorch", text)

    def test_in_bfloat16_the_best_peer_may_be_one_in_float32(self):
        narrow = figures()
        narrow["titles"] |= {"auto": "Tern, auto", "ov_auto": "OpenVINO, as it comes"}
        one, two = (m["runtimes"] for m in narrow["models"].values())
        one |= {"auto": runtime(1) | {"sqnr_db": 41.26, "same_first": 0.99}, "ov_auto": runtime(2)}
        two |= {"auto": runtime(5), "ov_auto": runtime(20)}
        text = report.markdown(narrow)
        self.assertIn("| one | 1.00 ±50 % | 2.00 ±25 % | 0.50 (OpenVINO, as it comes) |", text)
        self.assertIn("| two | 5.00 ±10 % | 20.0 ±2 % | 0.50 (PyTorch eager) |", text)
        self.assertIn("| one | 41.3, 99 % | – |", text)
        self.assertIn("| one | 2.00 ±25 % | 1.00 ±50 % | 8.00 ±6 % | 4.00 ±12 % | 0.50 (ONNX Runtime) |", text)

    def test_without_tern_or_without_peers_there_is_no_ratio(self):
        for left in ("tern", "eager"):
            few = figures()
            few["models"] = {"one": {"what": "", "runtimes": {left: runtime(2)}, "failures": {}}}
            text = report.markdown(few)
            self.assertNotIn("geometric mean", text)
            self.assertIn("| – |", text)

    def test_the_same_figures_give_the_same_text(self):
        self.assertEqual(report.markdown(figures()), report.markdown(figures()))

    def test_only_what_is_between_the_markers_changes(self):
        document = "# Performance\n\nBefore.\n"
        first = report.put_between_markers(document, "A\n")
        self.assertTrue(first.startswith(document) and first.endswith(f"A\n{report.END}\n"))
        second = report.put_between_markers(first + "\n## After\n", "B")
        self.assertEqual(second, first.replace("A\n", "B\n") + "\n## After\n")
        self.assertEqual(report.put_between_markers(second, "B"), second)

    def test_broken_markers_are_left_alone(self):
        for document in (report.BEGIN, report.END, f"{report.END}\n{report.BEGIN}", f"{report.BEGIN}{report.BEGIN}{report.END}"):
            with self.assertRaises(ValueError):
                report.put_between_markers(document, "A")


if __name__ == "__main__":
    counted.main()
