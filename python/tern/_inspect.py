"""inspect(): what is in an archive or a .pt2 file, as a tree."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from tern import _tern


class Module:
    """A module of the PyTorch program: the nodes that come from it, and the modules in it."""

    def __init__(self, path: str):
        self.path = path
        self.modules: dict[str, Module] = {}
        self.nodes: list[dict[str, Any]] = []

    def __getitem__(self, path: str) -> Module:
        """The module of this path, seen from here: tree['layers.0.attention']."""
        module = self
        for name in path.split("."):
            module = module.modules[name]
        return module

    def walk(self) -> Iterator[Module]:
        yield self
        for module in self.modules.values():
            yield from module.walk()

    def __len__(self) -> int:
        """Number of nodes, those of inner modules included."""
        return sum(len(m.nodes) for m in self.walk())

    def __repr__(self) -> str:
        return f"Module('{self.path}', {len(self)} nodes)"

    def _html(self, function, open_=False) -> str:
        from html import escape

        rows = "".join(_row(n, function) for n in self.nodes)
        inner = "".join(m._html(function) for m in self.modules.values())
        table = f"<table>{rows}</table>" if rows else ""
        name = escape(self.path) or "nodes"
        return f"<details{' open' if open_ else ''}><summary>{name} ({len(self)})</summary><div style='margin-left:1.5em'>{inner}{table}</div></details>"


def _type(type_):
    return f"{type_['dtype']}[{', '.join(map(str, type_['sizes']))}]" if type_ else "None"


def _row(node, function):
    from html import escape

    origin = node.get("origin", {})
    cells = [node["index"], node["op"], ", ".join(map(_type, node["types"])), origin.get("op", ""), origin.get("source", "")]
    return "<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in cells) + "</tr>"


class FunctionTree:
    """A function of the program: name, inputs, outputs, nodes as dictionaries, and `root`, the nodes by module."""

    def __init__(self, data: dict[str, Any]):
        self.name: str = data["name"]
        self.entry: bool = data["entry"]
        self.inputs: list[dict[str, Any]] = data["inputs"]
        self.outputs: list[dict[str, Any]] = data["outputs"]
        self.nodes: list[dict[str, Any]] = data["nodes"]
        self.root = Module("")
        for index, node in enumerate(self.nodes):
            node["index"] = index
            module, path = self.root, node.get("origin", {}).get("module", "")
            for name in filter(None, path.split(".")):
                inner = f"{module.path}.{name}" if module.path else name
                module = module.modules.setdefault(name, Module(inner))
            module.nodes.append(node)

    def __repr__(self) -> str:
        return f"FunctionTree('{self.name}', {len(self.nodes)} nodes)"

    def _html(self, open_) -> str:
        from html import escape

        return f"<h4>{escape(self.name)}</h4>" + self.root._html(self, open_)


class Inspection:
    """What is in a file. str() is the text of 'tern inspect'; a notebook shows a tree that folds by module.

    functions  a FunctionTree by name, bodies of control flow included
    states     weights and other states, as dictionaries
    data       everything, as 'tern inspect --json' has it
    """

    def __init__(self, data: dict[str, Any], text: str):
        self.data = data
        self.functions: dict[str, FunctionTree] = {f["name"]: FunctionTree(f) for f in data.get("functions", [])}
        self.states: list[dict[str, Any]] = data.get("states", [])
        self.metadata: dict[str, str] = dict(data.get("metadata", []))
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        from html import escape

        d = self.data
        functions = "".join(f._html(i == 0) for i, f in enumerate(self.functions.values()))
        states = "".join(
            f"<tr><td>{escape(s['name'])}</td><td>{escape(_type(s['type']))}</td><td>{s['storage_bytes']:,}</td></tr>"
            for s in self.states
        )
        weights = f"<details><summary>states ({len(self.states)})</summary><table>{states}</table></details>"
        return f"<div class='tern'><b>{escape(d['file'])}</b>, {d['bytes']:,} bytes{functions}{weights}</div>"


def inspect(path: str | os.PathLike[str], size: Mapping[str, int] | None = None) -> Inspection:
    """What is in an archive (.tern) or a .pt2 file. `size` has values of symbolic sizes for the cost of a run.

    Safe on any bytes.
    """
    path = os.fspath(path)
    return inspect_as(path, path, size)


def inspect_as(path, label, size=None):
    """inspect() of a file that the texts call `label`."""
    import json

    from tern._words import text

    sizes = [f"{name}={text(f'size[{name!r}]', value)}" for name, value in (size or {}).items()]
    data, shown = _tern._inspect(path, label, sizes)
    return Inspection(json.loads(data), shown)
