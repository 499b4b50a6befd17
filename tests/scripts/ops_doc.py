#!/usr/bin/env python3
"""Writes docs/ops.md: every operator of PyTorch that can be imported, what it becomes, and how exact it is.

  ops_doc.py [--tern TERN] [--data FOLDER | --reports FOLDER] [--check]

--data     the unpacked cases (build/test-data), which `tern conform` runs
--reports  what `tern conform --json` printed for each folder of cases, as FOLDER/NAME.json, instead of running them again
--check    writes nothing; ends with 1 when docs/ops.md would differ. Errors are left out of that: processors round differently.

The reasons for errors above 8 units in the last place stand in tests/data/ops/reasons.txt.
"""
import argparse
import collections
import difflib
import json
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOC = ROOT / "docs/ops.md"
TABLES = ROOT / "tests/data/ops"
FOLDERS = ["programs", "mx", "subclasses", "import", "results", "quantized", "collective", "models", "conformance"]
REASON_ABOVE = 8

SHORT = {"boolean": "bool", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex32": "c32", "complex64": "c64",
         "complex128": "c128", **{f"{u}int{n}": f"{u[:1] or 'i'}{n}" for u in ("", "u") for n in (8, 16, 32, 64)}}
ORDER = ["bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c32", "c64", "c128"]

INTRO = """# Table of operators

`docs/operators.md` explains this page. `./dev ops` writes it from `tern ops` and from the cases in `tests/data/`; do not edit it.

- **becomes**: Tern's ops in all cases with the operator. `none`: the operator needs no work in a run (a size, a cast to
  the same type, a view equal to the tensor, an unused result).
- **dtypes**: the element types of inputs and outputs in these cases; other types may work too.
- **cases**: passed cases of this operator alone / passed cases with other operators. Failed cases are counted as
  "failed".
- **worst error**: the largest difference from PyTorch's result over all elements of the cases of this operator alone,
  in units in the last place of the largest magnitude in the same row, rounded up to a power of two. Empty: no case of
  this operator alone. Cases "nearer" to the float64 evaluation than PyTorch's result are counted, without their errors.

Every case passes except those in `tests/data/conformance_expected_failures.txt`.

"""


def table(name):
    """NAME: TEXT lines as a dictionary; # begins a comment."""
    lines = (line.split("#")[0].strip() for line in (TABLES / name).read_text().splitlines())
    return {key.strip(): text.strip() for key, _, text in (line.partition(": ") for line in lines if line)}


def run(tern, arguments):
    result = subprocess.run([tern, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode not in (0, 1):
        sys.exit(f"FAIL {tern} {' '.join(arguments)} ended with {result.returncode}")
    return json.loads(result.stdout)


def cases(arguments):
    for folder in FOLDERS:
        if arguments.reports:
            report = json.loads((arguments.reports / f"{folder}.json").read_text())
        else:
            report = run(arguments.tern, ["conform", "--json", str(arguments.data / folder)])
        if not report["cases"]:
            sys.exit(f"FAIL there are no cases of {folder}")
        yield from report["cases"]


class Use:
    """What the cases say of one operator."""

    def __init__(self):
        self.ops, self.dtypes = set(), set()
        self.alone = self.among = self.failed = self.nearer = 0
        self.worst = 0.0

    def add(self, case, operator, alone):
        if not case["passed"]:
            self.failed += 1
            return
        self.ops |= set(operator["ops"])
        self.dtypes |= set(operator["dtypes"])
        self.alone += alone
        self.among += not alone
        self.nearer += alone and bool(case.get("nearer"))
        if alone:
            self.worst = max(self.worst, math.inf if case["worst_ulp"] is None else case["worst_ulp"])

    def cases_text(self):
        return f"{self.alone} / {self.among}" + (f", {self.failed} failed" if self.failed else "")

    def dtypes_text(self):
        short = {SHORT.get(d, d) for d in self.dtypes}
        return " ".join([d for d in ORDER if d in short] + sorted(short - set(ORDER)))

    def error_text(self, reason):
        if not self.alone:
            return ""
        nearer = f", {self.nearer} nearer" if self.nearer else ""
        if self.worst == 0:
            return "exact" + nearer
        power = "unbounded" if math.isinf(self.worst) else 2 ** max(0, math.ceil(math.log2(self.worst)))
        text = f"≤ {power}" if power != "unbounded" and power < 1e6 else "large"
        return text + nearer + (f": {reason}" if reason and self.worst > REASON_ABOVE else "")


def gather(arguments):
    uses = collections.defaultdict(Use)
    for case in cases(arguments):
        operators = case["operators"]
        working = [name for name, operator in operators.items() if operator["ops"]]
        for name, operator in operators.items():
            uses[name].add(case, operator, (working or list(operators)) == [name])
    return uses


def short_name(name):
    return name.removeprefix("aten.").removesuffix(".default") if name.startswith("aten.") else name.removesuffix(".default")


def row(*cells):
    return "| " + " | ".join(cells) + " |\n"


def head(*cells):
    return row(*cells) + "|" + "---|" * len(cells) + "\n"


def listed(names):
    return ", ".join(f"`{short_name(name)}`" for name in names) + "\n\n"


OWN_OPS = """## Tern's own ops

The closed set of ops that a device implements. `number` identifies the op in archives; `operators` counts the operators
above that use the op. Operands and results: ? may be absent, \\* any number, + one or more, ! present even where another
result is. Attributes: those without a default or ? are required; where one with ? is absent, `tern ops OP` says what
stands for it. `tern ops OP` also shows types, bounds and meanings. An attribute that is not listed means nothing.

Traits:

- view: strides, no work, where the operand's strides allow it
- effect: does more than give results, so it is never removed and never computed at export
- plain: each element of the result is constant, or a function of few elements of the operands
- foldable: computed at export where operands are constant
- data-sized: finds sizes of its results, and binds them to its `symbols`
- random: takes numbers from the session's generator
- host: the runtime does it, without a kernel
- control: runs other functions
- offered: a function of its operands alone, which devices may take
- reads-part: reads at most one element of the first operand for each element of the result
- may-be-unread: all results may be absent

Gradient: yes where `tern export` derives it, none flows where results are positions, booleans or constants, refused where
PyTorch has none or the op is no part of a model; `tern ops NAME` gives the reason.

"""


def attribute(a):
    """`axis`, `step` = 1, `dtype`?"""
    if a["required"]:
        return f"`{a['name']}`"
    return f"`{a['name']}` = {a.get('default_name', a['default'])}" if "default" in a else f"`{a['name']}`?"


def own_ops(ops, counts):
    out = OWN_OPS + head("op", "number", "version", "operands → results", "attributes", "traits", "gradient", "operators")
    for op in ops:
        out += row(op["name"], str(op["number"]), str(op["version"]), op["signature"].replace("*", "\\*").replace("->", "→").strip(),
                   ", ".join(map(attribute, op["attributes"])), ", ".join(op["traits"]), op["gradient"].split(":")[0], str(counts[op["name"]]))
    return out


def document(known, uses):
    names = {n["name"]: n for n in known["names"]}
    of_kind = {k: [n for n in names if names[n]["kind"] == k] for k in ("lowered", "written", "memory", "host", "no effect", "control")}
    core, reasons, missing = table("core_aten.txt"), table("reasons.txt"), table("missing.txt")
    problems = [f"{n}: an error of {uses[n].worst:.3g} units in the last place, and no reason in tests/data/ops/reasons.txt"
                for n in sorted(names) if n in uses and uses[n].worst > REASON_ABOVE and n not in reasons]
    problems += [f"{n}: no such operator, but a reason in tests/data/ops/reasons.txt" for n in reasons if n not in names]
    absent = [n for n in core if n not in names]
    problems += [f"{n}: of Core ATen, not supported, and no reason in tests/data/ops/missing.txt" for n in absent if n not in missing]
    problems += [f"{n}: supported, but listed in tests/data/ops/missing.txt" for n in missing if n in names]
    if problems:
        sys.exit("\n".join("FAIL " + p for p in problems))

    tested = {n for n in names if n in uses and uses[n].alone + uses[n].among}
    out = INTRO
    out += f"{len(names)} operators: " + ", ".join(f"{len(v)} {k}" for k, v in of_kind.items()) + f". {len(tested)} of them occur in the cases.\n\n"
    out += f"Core ATen: {len(core) - len(absent)} of {len(core)} operators; {len([n for n in core if n in tested])} of them occur in the cases.\n\n"

    out += "## Computed\n\nNames without a namespace belong to `aten`; `.default` is omitted.\n\n"
    out += head("operator", "becomes", "dtypes", "cases", "worst error")
    for n in (n for n in of_kind["lowered"] if n in tested):
        u = uses[n]
        out += row(f"`{short_name(n)}`", ", ".join(sorted(u.ops)) or "none", u.dtypes_text(), u.cases_text(), u.error_text(reasons.get(n)))
    out += "\nAlso lowered, without a case:\n\n" + listed(n for n in of_kind["lowered"] if n not in tested)

    out += "## Written in place\n\nTern computes in-place and `out=` operators as the functional operator and writes the result back.\n\n"
    out += head("operator", "computed as", "becomes", "dtypes", "cases", "worst error")
    for n in (n for n in of_kind["written"] if n in tested):
        u = uses[n]
        twin = names[n].get("computed_as", "")
        out += row(f"`{short_name(n)}`", f"`{short_name(twin)}`" if twin else "itself", ", ".join(sorted(u.ops)) or "none", u.dtypes_text(),
                   u.cases_text(), u.error_text(reasons.get(n)))
    out += "\nAlso imported, without a case:\n\n" + listed(n for n in of_kind["written"] if n not in tested)

    out += "## Memory, sizes, control flow\n\nThe importer resolves these itself: memory and layout become views, numbers of the host become expressions"
    out += " over sizes, subgraphs become functions.\n\n"
    out += head("operator", "kind", "becomes", "cases")
    for kind in ("memory", "host", "no effect", "control"):
        for n in of_kind[kind]:
            u = uses.get(n, Use())
            out += row(f"`{short_name(n)}`", kind, ", ".join(sorted(u.ops)) or "none", u.cases_text())

    out += "\n## Not supported\n\n"
    if absent:
        out += head("operator of Core ATen", "why") + "".join(row(f"`{short_name(n)}`", missing[n]) for n in absent) + "\n"
    else:
        out += "No operator of Core ATen is missing.\n\n"
    out += "`tern export` refuses any operator that is not on this page. One message names all of them, and the reason against each of these:"
    out += "\n\n"
    out += head("operator", "reason, and a replacement") + "".join(
        row(f"`{r['name']}*`, all others" if r["name"].endswith(".") else f"`{r['name']}`", r["reason"]) for r in known["refused"]) + "\n"

    counts = {op["name"]: sum(op["name"] in uses[n].ops for n in tested) for op in known["ops"]}
    return out + own_ops(known["ops"], counts)


def without_errors(text):
    return [re.sub(r"\| (exact|large|≤ [^|]*)[^|]* \|$", "| |", line) for line in text.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tern", default=str(ROOT / "build/tern"))
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "build/test-data")
    parser.add_argument("--reports", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()

    text = document(run(arguments.tern, ["ops", "--json"]), gather(arguments))
    if not arguments.check:
        DOC.write_text(text)
        return
    old, new = without_errors(DOC.read_text() if DOC.exists() else ""), without_errors(text)
    if old != new:
        print("\n".join(list(difflib.unified_diff(old, new, "docs/ops.md", "docs/ops.md anew", lineterm="", n=0))[:60]))
        sys.exit("FAIL docs/ops.md is out of date: ./dev ops writes it anew")


if __name__ == "__main__":
    main()
