#!/usr/bin/env python3
"""Tests the figures, the comparison and the tables of ./dev gpu-model with made-up launches. Needs no build."""
import unittest

import counted
from gpu_model_baseline import compare, kept
from gpu_model_figures import H100, MI300X, Sums, by_kernel, launched_seconds, least_seconds, misses
from gpu_model_report import details, markdown, number, summary


def accesses(requests=0, sectors=0, least=None, memory=0):
    return {"requests": requests, "sectors": sectors, "least_sectors": sectors if least is None else least,
            "memory_bytes": memory}


def launch(**changes):
    """Reads and writes a megabyte each, as well as possible."""
    return {"kernel": "k", "grid": [1000, 1, 1], "block": [256, 1, 1], "shared_bytes": 0, "in_graph": True,
            "counted": True, "whole": True,
            "loads": accesses(8192, 32768, memory=2**20), "stores": accesses(8192, 32768, memory=2**20),
            "atomics": accesses(), "shared": {"requests": 0, "passes": 0, "least_passes": 0}, "local_bytes": 0,
            "operations": 0, "tensor_operations": 0, "worst": {"line": 0, "sectors": 0, "least_sectors": 0},
            "registers": 32, "spill_bytes": 0, "stack_bytes": 0, "occupancy": 1.0, **changes}


def node(*launches, **changes):
    return {"op": "pointwise", "sizes": "", "type": "float32", "bytes": 2**21, "operations": 0,
            "launches": list(launches) or [launch()], **changes}


def program(*nodes, name="p", group="pointwise"):
    return {"name": name, "group": group, "nodes": list(nodes), "launches": sum(len(n["launches"]) for n in nodes), "graphs": 1,
            "outside_graphs": 0, "copied_bytes": 0, "no_graph": ""}


class Figures(unittest.TestCase):
    def test_perfect(self):
        f = Sums([node()]).figures()
        self.assertEqual((f["memory_ratio"], f["requested_ratio"], f["sectors"], f["coalescing"]), (1, 1, 4, 1))
        self.assertIsNone(f["conflicts"])
        self.assertEqual(misses("pointwise", f, narrow=False), [])

    def test_what_misses_targets(self):
        strided = launch(loads=accesses(8192, 262144, 32768, 2**23))
        f = Sums([node(strided)]).figures()
        self.assertEqual(f["memory_ratio"], (2**23 + 2**20) / 2**21)
        self.assertEqual(f["sectors"], (262144 + 32768) / 16384)
        self.assertEqual(misses("norm", f, False), ["bytes", "coalescing"])
        self.assertEqual(misses("movement", f, False), [])
        self.assertEqual(misses("norm", Sums([node(launch(spill_bytes=8))]).figures(), False), ["spills"])

    def test_share_of_tensor_cores(self):
        f = Sums([node(launch(operations=100, tensor_operations=300))]).figures()
        self.assertEqual(f["tensor_share"], 0.75)
        self.assertEqual(misses("product", f, narrow=True), ["tensor cores"])
        self.assertEqual(misses("product", f, narrow=False), [])

    def test_least_time(self):
        # 989.4e12 operations a second and 3.35e12 bytes: NVIDIA's figures for bfloat16 on an H100 SXM.
        product = node(op="matmul", type="bfloat16", bytes=3.35e12, operations=2 * 989.4e12)
        self.assertAlmostEqual(least_seconds(product, H100), 2)
        self.assertAlmostEqual(least_seconds({**product, "operations": 0}, H100), 1)
        self.assertAlmostEqual(least_seconds({**product, "type": "float32", "operations": 66.9e12 * 3}, H100), 3)
        self.assertAlmostEqual(least_seconds({**product, "operations": 1307.4e12 * 5}, MI300X), 5)

    def test_launched_time(self):
        self.assertAlmostEqual(launched_seconds(node()), 2**21 / 3.35e12)
        self.assertAlmostEqual(launched_seconds(node(launch(operations=66.9e12))), 1)
        self.assertAlmostEqual(launched_seconds(node(launch(), launch())), 2 * 2**21 / 3.35e12)
        # Half of the 132 multiprocessors; a request per multiprocessor and cycle of 1.98 GHz.
        self.assertAlmostEqual(launched_seconds(node(launch(operations=66.9e12, grid=[66, 1, 1]))), 2)
        self.assertAlmostEqual(launched_seconds(node(launch(shared={"requests": 1, "passes": 132 * 1.98e9, "least_passes": 1}))),
                               1, places=3)
        part = launch(whole=False, loads=accesses(8192, 32768))
        self.assertAlmostEqual(launched_seconds(node(part)), 2**21 / 3.35e12)
        self.assertIsNone(Sums([node(part)]).figures()["memory_ratio"])

    def test_node_of_a_library(self):
        product = node(op="matmul", bytes=3.35e12)
        product["launches"] = []
        self.assertAlmostEqual(launched_seconds(product), 1)
        f = Sums([product]).figures()
        self.assertEqual(f["launches"], 0)
        self.assertEqual(misses("product", f, narrow=True), [])
        # A library launch, and a launch of Tern's that prepares an operand.
        product["launches"] = [launch(counted=False, whole=False, loads=accesses(), stores=accesses()), launch()]
        self.assertAlmostEqual(launched_seconds(product), 1 + 2**21 / 3.35e12)
        product["launches"].pop()
        f = Sums([product]).figures()
        self.assertEqual([f[name] for name in ("requested_ratio", "memory_ratio", "sectors", "warps", "registers")],
                         [None, None, None, None, 32])


class Baseline(unittest.TestCase):
    def figures(self, *nodes):
        return {"p": kept({**Sums(nodes).figures(), "graphs": 1, "outside_graphs": 0})}

    def test_same(self):
        self.assertEqual(compare(self.figures(node()), self.figures(node())), ([], []))

    def test_each_figure_that_is_worse(self):
        old = self.figures(node(launch(tensor_operations=100, shared={"requests": 1, "passes": 1, "least_passes": 1})))
        same = {"tensor_operations": 100, "shared": {"requests": 1, "passes": 1, "least_passes": 1}}
        for figure, worse in {
                "launches": [launch(**same), launch(**same)],
                "memory_ratio": [launch(**same, loads=accesses(8192, 32768, memory=2**21))],
                "requested_ratio": [launch(**same, loads=accesses(16384, 65536, memory=2**20))],
                "coalescing": [launch(**same, loads=accesses(8192, 65536, 32768, 2**20))],
                "conflicts": [launch(**{**same, "shared": {"requests": 1, "passes": 2, "least_passes": 1}})],
                "times": [launch(**same, grid=[10, 1, 1])],
                "spill_bytes": [launch(**same, spill_bytes=4)],
                "occupancy": [launch(**same, occupancy=0.75)],
                "tensor_share": [launch(**{**same, "operations": 100})]}.items():
            with self.subTest(figure):
                failures, _ = compare(old, self.figures(node(*worse)))
                self.assertTrue(any(f"p: {figure} is" in line for line in failures), failures)

    def test_unknown(self):
        bare = {key: value for key, value in launch().items() if key not in ("registers", "spill_bytes", "occupancy")}
        failures, _ = compare(self.figures(node()), self.figures(node(bare)))
        self.assertEqual(failures, ["p: spill_bytes is not known, and was 0", "p: occupancy is not known, and was 1"])

    def test_better_and_new(self):
        self.assertEqual(compare(self.figures(node(launch(), launch())), self.figures(node())), ([], ["p"]))
        failures, _ = compare({}, self.figures(node()))
        self.assertIn("--update", failures[0])


class Report(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual([number(x) for x in (None, 0, 4, 1.05, 0.0123, 12345.6)], ["–", "0", "4", "1.05", "0.0123", "12346"])

    def test_kernels_of_a_model(self):
        model = program(node(), node(op="softmax"), node(), group="model")
        self.assertEqual([(op, len(sums.nodes)) for op, _, sums in by_kernel(model)], [("pointwise", 2), ("softmax", 1)])
        text = details([model], markdown, 8)
        self.assertIn("p: 3 kernels in 1 graph\n", text)
        self.assertIn("| pointwise (k), 2 nodes | 2 |", text)
        self.assertIn("| the rest, 1 nodes | 1 |", details([model], markdown, 1))
        text = summary([model, program(node(launch(spill_bytes=16)), name="one")], markdown)
        self.assertIn("| p | 1 | 3 |", text)
        self.assertIn("32, 16 B spilled", text)


if __name__ == "__main__":
    counted.main()
