#!/usr/bin/env python3
"""Tests the report of ./dev bench decoder. Standard library alone."""
import pathlib
import sys
import unittest

import counted

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from decoder import report, runtimes  # noqa: E402


def runtime(ms, megabytes):
    return {"ms": {"median": ms, "q1": ms * 0.98, "q3": ms * 1.02}, "bytes": megabytes * 1e6}


FIGURES = {"read_bytes": 30e9, "failures": {"ort_int4": "convert: no memory"},
           "runtimes": {"llama_mxfp4": runtime(25, 260), "tern_bf16": runtime(40, 1000), "tern_mxfp4": runtime(10, 270),
                        "ov_int8": runtime(24, 500), "tern_int8": runtime(20, 500), "ov_int4": runtime(16, 280)}}


class Report(unittest.TestCase):
    def test_rows_come_by_bits(self):
        rows = [line.split("|")[1].strip() for line in report.markdown(FIGURES).splitlines() if line.startswith("|")][2:]
        self.assertEqual(rows, ["Tern, bfloat16", "Tern, int8", "OpenVINO, int8", "Tern, MXFP4", "llama.cpp, MXFP4",
                                "OpenVINO, int4"])

    def test_figures(self):
        text = report.markdown(FIGURES)
        self.assertIn("| Tern, MXFP4 | 10.0 ±2 % | 100.0 | 4.00 | 270 | 27.0 (90 %) |", text)
        self.assertIn("| OpenVINO, int8 | 24.0 ±2 % | 41.7 | 1.67 | 500 |  |", text)  # additional table
        self.assertIn("The archive of MXFP4 takes 27.0 % of bfloat16's.", text)
        self.assertIn("8 bits: Tern, int8 takes 0.83 of the time of OpenVINO, int8.", text)
        self.assertIn("4 bits: Tern, MXFP4 takes 0.62 of the time of OpenVINO, int4.", text)
        self.assertNotIn("16 bits:", text)
        self.assertIn("ONNX Runtime, int4 failed at convert: no memory.", text)

    def test_commands(self):
        c = runtimes.Commands("tern_int4", pathlib.Path("/models"), 2, "tern", "llama-bench")
        self.assertEqual(c.convert(), ["tern", "export", "/models/model.pt2", "-o", "/models/int4.tern", "--quantize", "int4"])
        self.assertIn("--turns", c.turns())
        llama = runtimes.Commands("llama_q4_0", pathlib.Path("/models"), 2, "tern", "llama-bench")
        self.assertIn("llama-bench", llama.turns())


if __name__ == "__main__":
    counted.main()
