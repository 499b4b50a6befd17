#!/usr/bin/env python3
"""Tests ./dev bench arm64 without an emulator: classes of instructions, loops, ratios. Standard library alone."""
import pathlib
import sys
import tempfile
import unittest

import counted

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from arm64 import instructions, loops, report  # noqa: E402

# Arm Architecture Reference Manual: class, bytes loaded, multiply-adds of the instruction.
KNOWN = {
    "fmla\tv0.4s, v1.4s, v2.s[3]": ("multiply-add", 0, 4),
    "fmla\tv0.2d, v1.2d, v2.2d": ("multiply-add", 0, 2),
    "fmla\tv0.8h, v1.8h, v2.h[3]": ("multiply-add", 0, 8),
    "fmla\tz0.s, p0/m, z1.s, z2.s": ("multiply-add", 0, 4),
    "fmadd\ts0, s1, s2, s3": ("multiply-add", 0, 1),
    "sdot\tv0.4s, v1.16b, v2.4b[0]": ("multiply-add", 0, 16),
    "sdot\tv0.2s, v1.8b, v2.8b": ("multiply-add", 0, 8),
    "smmla\tv0.4s, v1.16b, v2.16b": ("multiply-add", 0, 32),
    "bfmmla\tv0.4s, v1.8h, v2.8h": ("multiply-add", 0, 16),
    "smlal\tv0.4s, v1.4h, v2.4h": ("multiply-add", 0, 4),
    "smlal2\tv0.4s, v1.8h, v2.h[1]": ("multiply-add", 0, 4),
    "fadd\tv0.4s, v1.4s, v2.4s": ("vector", 0, 0),
    "fmul\ts0, s1, s2": ("vector", 0, 0),
    "fmov\tw0, s0": ("vector", 0, 0),
    "ldr\tq0, [x1, #16]": ("vector load", 16, 0),
    "ldp\tq0, q1, [x1], #32": ("vector load", 32, 0),
    "ldp\td0, d1, [x1]": ("vector load", 16, 0),
    "ld1\t{v0.4s-v3.4s}, [x0], #64": ("vector load", 64, 0),
    "ld1\t{v0.16b, v1.16b}, [x0]": ("vector load", 32, 0),
    "ld1\t{v0.s}[1], [x0]": ("vector load", 4, 0),
    "ld1r\t{v0.4s}, [x0]": ("vector load", 4, 0),
    "ld1w\t{z0.s}, p0/z, [x0]": ("vector load", 16, 0),
    "str\tq0, [x1]": ("vector store", 0, 0),
    "st1\t{v0.4s}, [x0]": ("vector store", 0, 0),
    "ldr\tx0, [x1, #8]": ("load", 8, 0),
    "ldp\tx29, x30, [sp], #32": ("load", 16, 0),
    "ldrb\tw0, [x1]": ("load", 1, 0),
    "ldrsw\tx0, [x1]": ("load", 4, 0),
    "stp\tx29, x30, [sp, #-32]!": ("store", 0, 0),
    "b.ne\t0x40": ("branch", 0, 0),
    "cbz\tx0, 0x40": ("branch", 0, 0),
    "bl\t0x40": ("branch", 0, 0),
    "ret": ("branch", 0, 0),
    "bic\tw0, w1, w2": ("scalar", 0, 0),
    "add\tx0, x1, #0x8": ("scalar", 0, 0),
    "prfm\tpldl1keep, [x0]": ("scalar", 0, 0),
    "bfi\tw0, w1, #8, #8": ("scalar", 0, 0),
}


class Instructions(unittest.TestCase):
    def test_classes_bytes_and_multiply_adds(self):
        for text, known in KNOWN.items():
            found = instructions.classify(text, 16)
            self.assertEqual((found.kind, found.loaded_bytes, found.multiply_adds), known, text)

    def test_scalable_registers_have_their_length(self):
        self.assertEqual(instructions.classify("fmla\tz0.s, p0/m, z1.s, z2.s", 32).multiply_adds, 8)
        self.assertEqual(instructions.classify("ldr\tz0, [x0]", 64).loaded_bytes, 64)


def decoded(**kinds):
    return {word: instructions.Instruction(word, kind) for word, kind in kinds.items()}


class Loops(unittest.TestCase):
    DECODED = decoded(add="scalar", fmla="multiply-add", loop="branch")

    def test_neighbours_with_equal_counts_are_one_loop(self):
        blocks = [(0, 100, ["fmla"] * 3), (12, 100, ["add", "loop"]), (20, 5, ["add"])]
        self.assertEqual(loops.merge(blocks, self.DECODED)[0], (0, 100, ["fmla"] * 3 + ["add", "loop"]))

    def test_a_branch_ends_a_loop(self):
        blocks = [(0, 100, ["fmla", "loop"]), (8, 100, ["fmla", "loop"])]
        self.assertEqual(len(loops.merge(blocks, self.DECODED)), 2)

    def test_the_file_of_the_plugin(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "counts"
            path.write_text("runs 12 10\nmap 1000 2000 500 /a file.so\nblock 1010 3 0102030405060708\nblock 9000 1 01020304\n")
            counts = loops.Counts(path)
        self.assertEqual(counts.runs, [12, 10])
        self.assertEqual(counts.blocks, [(0x1010, 3, ["01020304", "05060708"]), (0x9000, 1, ["01020304"])])
        self.assertEqual(counts.place(0x1010), ("/a file.so", 0x510))
        self.assertEqual(counts.place(0x9000)[0], "generated code")


class Comparison(unittest.TestCase):
    def test_tern_is_compared_with_the_best_peer(self):
        figures = {"tern": {"instructions": 90}, "ort": {"instructions": 100}, "ov": {"failure": "no"}, "script": {"instructions": 300}}
        self.assertEqual(report.best_peer(figures, "instructions"), ("ort", 100))


if __name__ == "__main__":
    counted.main()
