"""verify(): a program by Tern against PyTorch's eager mode, and node by node against the definitions of the ops."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tern import _tern
from tern._words import words

if TYPE_CHECKING:
    from tern._programs import ExportedProgram


class Verification:
    """What verify() found.

    ok        whether no result breaks a limit, or has another type or shape than PyTorch's
    failures  a line for each that does
    results   a dictionary for each result: name, cosine, sqnr_db, largest_error, ...
    nodes     a dictionary for each node that gives a floating tensor: node, op, module, source, own, accumulated
    keep      patterns of nodes that, kept in float32, meet the limits
    report    everything, as 'tern verify --json' has it
    """

    def __init__(self, report: dict[str, Any]):
        self.report = report
        self.failures: list[str] = report["failures"]
        self.results: list[dict[str, Any]] = report["compared"][0]["results"]
        self.nodes: list[dict[str, Any]] = report.get("nodes", [])
        self.keep: list[str] = report["keep"]
        self.ok: bool = not self.failures

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        first = self.report["compared"][0]
        lines = [f"{first['run']} against PyTorch" + ("" if self.ok else ": FAILED")]
        lines += ["  " + failure for failure in self.failures]
        lines += [f"  {r['name']}: {_errors(r)}" for r in self.results]
        own = [n for n in self.nodes if n["own"] and _sqnr(n["own"]) is not None]
        for n in sorted(own, key=lambda n: _sqnr(n["own"]))[:10]:
            lines.append(f"  node {n['node']} {n['op']} {n['module']} {n['source']}: own {_errors(n['own'])}")
        return "\n".join(lines)


def _sqnr(deviation):
    value = deviation.get("sqnr_db")
    return value if isinstance(value, (int, float)) else None


def _errors(deviation):
    if deviation.get("mismatch"):
        return deviation["mismatch"]
    decibels = _sqnr(deviation)
    largest = deviation.get("largest_error")
    text = "exact" if decibels is None else f"SQNR {decibels:.1f} dB"
    return text if largest is None else f"{text}, largest error {largest:.3g}"


def _leaves(tree):
    """Tensors of nested results, in PyTorch's order; Python numbers as tensors."""
    torch, trees = import_module("torch"), import_module("torch.utils._pytree")
    numbers = (bool, int, float, complex)
    return [torch.tensor(leaf) if isinstance(leaf, numbers) else leaf for leaf in trees.tree_leaves(tree)]


def _inputs(exported, args, kwargs):
    """The inputs that a run takes: those that export did not fix."""
    signature = import_module("torch.export.graph_signature")
    specs = [s for s in exported.graph_signature.input_specs if s.kind == signature.InputKind.USER_INPUT]
    leaves = _leaves((args, kwargs))
    if len(leaves) != len(specs):
        raise TypeError(f"the program takes {len(specs)} inputs, nested ones counted each, but {len(leaves)} were given")
    return [leaf for leaf, spec in zip(leaves, specs) if not isinstance(spec.arg, signature.ConstantArgument)]


def _tensor(leaf):
    # The memory of conjugated and negated views differs from their values.
    return _tern.Tensor(leaf.detach().resolve_conj().resolve_neg())


def _tensors(prefix, leaves):
    """Tensors of leaves by their places; None and texts are no tensors."""
    torch = import_module("torch")
    return {f"{prefix}{i}": _tensor(leaf) for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)}


def verify(
    program: ExportedProgram | str | os.PathLike[str],
    *args: Any,
    device: str = "cpu",
    precision: str | None = None,
    reproducible: bool = False,
    keep: str | Sequence[str] | None = None,
    against: str = "reproducible",
    min_cosine: float | None = None,
    min_sqnr: float | None = None,
    min_agreement: float | None = None,
    nodes: bool = True,
    threads: int = 0,
    **kwargs: Any,
) -> Verification:
    """Runs a program by PyTorch and by Tern on the same inputs, and compares.

    program  a torch.export.ExportedProgram, or a .pt2 file
    args, kwargs
             the program's inputs, as PyTorch takes them; none: the example inputs of an ExportedProgram
    device, precision, reproducible, keep, threads
             how Tern runs it, as load() takes them
    against  the reference of the nodes, by Tern on the CPU: 'reproducible', the definitions of the ops, or 'float32'
    min_cosine, min_sqnr, min_agreement
             limits for each result; SQNR in dB
    nodes    whether nodes are measured, too

    Returns a Verification, which is true if the results meet the limits. Needs torch.
    """
    import copy
    import json
    import tempfile

    from tern._export import pt2_file
    from tern._safetensors import save

    torch = import_module("torch")
    is_exported = isinstance(program, torch.export.ExportedProgram)
    exported = program if is_exported else torch.export.load(os.fspath(program))
    if not args and not kwargs and exported.example_inputs is not None:
        args, kwargs = exported.example_inputs
    inputs = _inputs(exported, args, kwargs)
    # Eager mode may modify inputs and states.
    eager_args, eager_kwargs = copy.deepcopy((args, kwargs))
    with torch.no_grad():
        results = _leaves(copy.deepcopy(exported).module()(*eager_args, **eager_kwargs))
    after = _inputs(exported, eager_args, eager_kwargs)
    written = {
        f"mut{i}": _tensor(b) for i, (a, b) in enumerate(zip(inputs, after)) if not torch.equal(a, b)
    }
    with pt2_file(program) as file, tempfile.TemporaryDirectory(prefix="tern-") as folder:
        given, expected = os.path.join(folder, "inputs.safetensors"), os.path.join(folder, "pytorch.safetensors")
        save(given, _tensors("in", inputs))
        save(expected, {**_tensors("out", results), **written})
        options = {
            "input": given,
            "expected": expected,
            "device": device,
            "precision": precision,
            "reproducible": reproducible,
            "keep": keep,
            "against": against,
            "min_cosine": min_cosine,
            "min_sqnr": min_sqnr,
            "min_agreement": min_agreement,
            "nodes": nodes,
            "threads": threads,
        }
        _, text = _tern._run(["verify", "--json", *words(options), "--", file])
    return Verification(json.loads(text))
