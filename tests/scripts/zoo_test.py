#!/usr/bin/env python3
"""Tests what ./dev bench zoo does beside running real runtimes: the sample, the store, the distribution. Standard library
alone; peers_test.py tests the turns."""
import json
import pathlib
import sys
import tempfile
import unittest

import counted

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from zoo import distribution  # noqa: E402
from zoo.case import Case, order  # noqa: E402
from zoo.store import Store  # noqa: E402


def entry(architectures, weight=1, forms=("float32", "bfloat16")):
    return {"architectures": architectures, "batches": [1, 8], "sizes": ["s224", "t32", "full"], "forms": list(forms),
            "weight": weight}


CATALOG = {"timm": entry([f"net{i}" for i in range(8)], weight=4), "transformers": entry(["kosmos-2.5", "bert"])}


class Sample(unittest.TestCase):
    def test_a_name_gives_its_case(self):
        for case in order(CATALOG, 3):
            self.assertEqual(Case.parse(case.name), case)
        case = Case.parse("transformers.kosmos-2.5.b8.t2048.int8")
        self.assertEqual((case.kind, case.architecture, case.batch, case.length, case.form),
                         ("transformers", "kosmos-2.5", 8, 2048, "int8"))
        self.assertIsNone(Case.parse("tabular.mlp.b1.full.float32").length)

    def test_every_case_comes_once(self):
        names = [c.name for c in order(CATALOG, 1)]
        self.assertEqual(len(names), 10 * 2 * 3 * 2)
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual(set(names), {c.name for c in order(CATALOG)})

    def test_every_architecture_comes_before_one_comes_twice(self):
        for seed in (None, 0, 7):
            first = [(c.kind, c.architecture) for c in order(CATALOG, seed)][:10]
            self.assertEqual(len(set(first)), 10, seed)

    def test_kinds_come_in_proportion_to_their_weights(self):
        kinds = [c.kind for c in order(CATALOG, 5)][:5]
        self.assertEqual(kinds.count("timm"), 4)

    def test_a_seed_gives_one_order(self):
        self.assertEqual(order(CATALOG, 4), order(CATALOG, 4))
        self.assertNotEqual(order(CATALOG, 4), order(CATALOG, 5))

    def test_float32_is_more_frequent(self):
        catalog = {"timm": entry([f"net{i}" for i in range(400)], forms=("float32", "bfloat16", "int8"))}
        forms = [c.form for c in order(catalog, 2)][:400]
        self.assertGreater(forms.count("float32"), 1.4 * forms.count("int8"))
        self.assertGreater(forms.count("int8"), 50)


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "results.jsonl"

    def tearDown(self):
        self.folder.cleanup()

    def test_results_survive(self):
        store = Store(self.path)
        store.add({"name": "a", "processor": "x"})
        store.add({"name": "b", "processor": "x", "error": "no such op"})
        store.add({"name": "c", "processor": "y"})
        again = Store(self.path)
        self.assertEqual(again.names("x"), {"a", "b"})
        self.assertEqual(again.names("x", with_errors=False), {"a"})
        self.assertEqual(again.names("y"), {"c"})

    def test_an_incomplete_last_line_is_dropped(self):
        Store(self.path).add({"name": "a"})
        with self.path.open("a") as file:
            file.write('{"name": "b", "run')
        store = Store(self.path)
        self.assertEqual([r["name"] for r in store.results], ["a"])
        store.add({"name": "c"})
        self.assertEqual([r["name"] for r in Store(self.path).results], ["a", "c"])

    def test_a_broken_line_is_named(self):
        self.path.write_text('{"name": "a"}\n}\n{"name": "c"}\n')
        with self.assertRaisesRegex(SystemExit, r"results.jsonl:2: .*delete the line"):
            Store(self.path)


def result(name, tern, peers, lost=(), **more):
    runtimes = {"tern": tern} | peers
    kind, form = name.split(".")[0], name.split(".")[-1]
    return {"name": name, "kind": kind, "form": form, "processor": "P with AVX2", "failures": {},
            "runtimes": {k: {"ms": {"median": ms, "q1": ms, "q3": ms}} for k, ms in runtimes.items()},
            "lost": [{"op": op, "algorithm": "", "size": "to 1 MB", "ms": ms, "lost_ms": ms / 2, "limit_ms": ms / 2, "nodes": 1}
                     for op, ms in lost], "tern_nodes_ms": sum(ms for _, ms in lost)} | more


RESULTS = [
    result("timm.a.b1.s224.float32", 2, {"eager": 8, "ort": 4}, [("matmul", 2)]),
    result("timm.b.b1.s224.float32", 4, {"eager": 9, "ov": 2}, [("softmax", 3), ("matmul", 1)]),
    result("audio.c.b1.t128.float32", 1, {"ort": 0.98}, [("matmul", 1)]),
    result("timm.d.b1.s224.int8", 3, {"ort": 3}, failures={"ov": "convert: no"}),
    result("operator.gelu.b1.full.float32", 5, {"eager": 1}),
    result("eight.resnet50.b1.full.float32", 0.9, {"ort": 1}),
    result("timm.e.b1.s224.float32", 9, {"eager": 1}, others_share=0.6),
    {"name": "timm.f.b1.s224.float32", "kind": "timm", "form": "float32", "processor": "P with AVX2", "runtimes": {},
     "failures": {}, "error": "no"},
    result("timm.g.b1.s224.float32", 9, {"eager": 1}, processor="Q with AMX"),
]


class Distribution(unittest.TestCase):
    def setUp(self):
        self.text = distribution.markdown(RESULTS)

    def test_means_and_shares(self):
        # 0.5, 2 and 1.0204: a peer at 0.98 of Tern's time is not behind 0.97.
        self.assertIn("| models, float32 | 3 | 1.01 | 1.02 | 2.00 | 33 % |", self.text)
        self.assertIn("| models, int8 | 1 | 1.00 | 1.00 | 1.00 | 0 % |", self.text)
        self.assertIn("| the eight models of `./dev bench peers`, float32 | 1 | 0.90 |", self.text)
        self.assertIn("| operators, float32 | 1 | 5.00 | 5.00 | 5.00 | 100 % |", self.text)

    def test_the_worst_come_first_with_their_loss(self):
        rows = [line for line in self.text.splitlines() if line.startswith("| timm.") or line.startswith("| audio.")]
        self.assertEqual(rows[0], "| timm.b.b1.s224.float32 | 4.00 | 2.00 (ov) | 2.00 | softmax to 1 MB (1.50 ms) |")
        self.assertTrue(rows[1].startswith("| audio.c"))

    def test_lost_time_by_cause(self):
        # matmul: half of all of a and c, an eighth of b; softmax: three eighths of b.
        self.assertIn("| matmul to 1 MB | 37.5 % | 12.5 % |", self.text)
        self.assertIn("| softmax to 1 MB | 12.5 % | 37.5 % |", self.text)

    def test_disturbed_and_failed_cases_do_not_count(self):
        self.assertIn("1 disturbed by other programs", self.text)
        self.assertIn("PyTorch 1, ov 1", self.text)
        self.assertNotIn("timm.e", self.text)

    def test_processors_do_not_mix(self):
        self.assertEqual(self.text.count("P with AVX2: "), 1)
        self.assertIn("Q with AMX: 1 models of 1 architectures", self.text)

    def test_runtimes_as_they_come(self):
        auto = result("timm.a.b1.s224.float32", 4, {"eager": 4, "auto": 1, "ov_auto": 2})
        text = distribution.markdown([auto])
        self.assertIn("| models, float32 | 1 | 1.00 |", text)
        self.assertIn("| models, float32, as they come | 1 | 0.50 |", text)

    def test_nothing_measured(self):
        self.assertEqual(distribution.markdown([]), "")
        self.assertIn("Failures: PyTorch 1", distribution.markdown([r for r in RESULTS if "error" in r]))

    def test_the_same_results_give_the_same_text(self):
        self.assertEqual(self.text, distribution.markdown(json.loads(json.dumps(RESULTS))))


if __name__ == "__main__":
    counted.main()
