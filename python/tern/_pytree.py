"""Nested arguments and results, as the program had them in PyTorch: the JSON of torch's pytrees that archives keep."""

from __future__ import annotations

import json
from collections import OrderedDict
from numbers import Number

_DICTIONARIES = ("builtins.dict", "collections.OrderedDict", "collections.defaultdict")


_DEPTH = 64  # depth of trees, limiting the recursion of calls


def _tree(text):
    """The tree of a spec [version, tree]; None where there is none that this package reads. Archives may hold anything."""
    try:
        version, tree = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return tree if version == 1 and _is_valid(tree, _DEPTH) else None


def _is_valid(node, depth):
    if depth == 0 or not isinstance(node, dict) or "type" not in node:
        return False
    kind, children = node["type"], node.get("children_spec")
    if kind is None:
        return True
    if not isinstance(kind, str) or not isinstance(children, list):
        return False
    if kind in _DICTIONARIES:
        keys = _keys(node)
        if not isinstance(keys, list) or not all(isinstance(key, (str, int, float)) for key in keys):
            return False
        if not len(set(keys)) == len(keys) == len(children):
            return False
    return all(_is_valid(child, depth - 1) for child in children)


def _is_leaf(node):
    return node["type"] is None


def _leaves(node):
    return 1 if _is_leaf(node) else sum(map(_leaves, node["children_spec"]))


def _keys(node):
    """The keys of a dictionary, in their order; None for other nodes."""
    if node["type"] not in _DICTIONARIES:
        return None
    try:
        context = json.loads(node["context"])
        if node["type"] == "collections.defaultdict":
            return context[1] if isinstance(context, list) else context["dict_context"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return context


def _flatten(node, value, where, leaves):
    if _is_leaf(node):
        leaves.append(value)
        return
    children, keys = node["children_spec"], _keys(node)
    if keys is not None:
        if not isinstance(value, dict) or set(value) != set(keys):
            given = f"the keys {sorted(map(_shown, value))}" if isinstance(value, dict) else _shown(value)
            raise TypeError(f"{where} takes a dictionary with the keys {keys}, not {given}")
        for key, child in zip(keys, children):
            _flatten(child, value[key], f"{where}[{key!r}]", leaves)
        return
    if not isinstance(value, (list, tuple)) or len(value) != len(children):
        raise TypeError(f"{where} takes a list or tuple of {len(children)}, not {_shown(value)}")
    for i, (item, child) in enumerate(zip(value, children)):
        _flatten(child, item, f"{where}[{i}]", leaves)


def _unflatten(node, leaves):
    if _is_leaf(node):
        return next(leaves)
    children, keys = [_unflatten(child, leaves) for child in node["children_spec"]], _keys(node)
    if keys is not None:
        return (OrderedDict if node["type"] == "collections.OrderedDict" else dict)(zip(keys, children))
    return children if node["type"] == "builtins.list" else tuple(children)


def _is_same(value, text):
    """Whether an argument is the one that export fixed, which the archive keeps as Python text."""
    if text == "None":
        return value is None
    if isinstance(value, str):
        return text == f"'{value}'"
    if text in ("True", "False"):
        return getattr(value, "shape", ()) == () and str(value) == text
    try:
        number = float(text)
    except ValueError:
        return not text.startswith("'")  # the archive stores only the kind of a dtype or device
    if isinstance(value, bool) or not isinstance(value, Number):
        return False
    # Integers of any size: float() would round them. Only NaN differs from itself.
    return value == (int(text) if text.lstrip("-").isdigit() else number) or (value != value and number != number)


class _Arguments:
    """Flattens the arguments of a call. Each is taken by its place or name, or all leaves by their places or names."""

    def __init__(self, function, arguments, names, fixed):
        self.function, self.arguments, self.names, self.fixed = function, arguments, names, fixed

    def _user(self, leaves):
        return [leaf for leaf, text in zip(leaves, self.fixed) if not text]

    def __call__(self, args, kwargs):
        try:
            return self._by_argument(args, kwargs)
        except (TypeError, ValueError):
            leaves = self._by_leaf(args, kwargs)
            if leaves is None:
                raise
            return leaves

    def _by_leaf(self, args, kwargs):
        """The inputs where the call gives each of them; else None."""
        free = self._user(self.names)
        given = dict(zip(free, args))
        if len(args) + len(kwargs) != len(free) or set(kwargs) != set(free) - set(given):
            return None
        given.update(kwargs)
        if any(isinstance(leaf, (list, tuple, dict)) for leaf in given.values()):
            return None
        return [given[name] for name in free]

    def _by_argument(self, args, kwargs):
        if len(args) > len(self.arguments):
            raise TypeError(f"'{self.function}' takes {len(self.arguments)} arguments, but {len(args)} were given")
        leaves, start = [], 0
        named = dict(kwargs)
        for i, (name, node) in enumerate(self.arguments):
            count = _leaves(node)
            fixed = count > 0 and all(self.fixed[start : start + count])
            if i < len(args):
                self._take(node, args[i], name, leaves)
            elif name in named:
                self._take(node, named.pop(name), name, leaves)
            elif fixed or count == 0:
                leaves += [None] * count
            else:
                raise TypeError(f"argument '{name}' of '{self.function}' was not given")
            start += count
        if named:
            takes = ", ".join(name for name, _ in self.arguments)
            raise TypeError(f"'{self.function}' has no argument '{next(iter(named))}', or it was given twice; it takes {takes}")
        return self._user(leaves)

    def _take(self, node, value, name, leaves):
        start = len(leaves)
        _flatten(node, value, name, leaves)
        for leaf, name, text in zip(leaves[start:], self.names[start:], self.fixed[start:]):
            if text and not _is_same(leaf, text):
                from tern._errors import InvalidArgument

                raise InvalidArgument(
                    f"argument '{name}' of '{self.function}' was fixed to {text} by the export, but {_shown(leaf)} was "
                    "given; leave it out, or export the program with the other value"
                )


def _shown(value):
    from tern._describe import describe as description

    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:60] + "...")
    return repr(value) if isinstance(value, (Number, type(None))) else f"a {description(value)}"


def _arguments(tree, names):
    """A name and a node for each argument of the call; None where the tree is not (args, kwargs) of these leaves."""
    if tree is None or _is_leaf(tree) or len(tree["children_spec"]) != 2 or _leaves(tree) != len(names):
        return None
    args, kwargs = tree["children_spec"]
    if _is_leaf(args) or _keys(args) is not None or _is_leaf(kwargs) or _keys(kwargs) is None:
        return None
    keys = [None] * len(args["children_spec"]) + _keys(kwargs)
    result, start = [], 0
    for key, node in zip(keys, args["children_spec"] + kwargs["children_spec"]):
        count = _leaves(node)
        if key is None:
            key = names[start].split(".")[0] if count else f"argument {len(result)}"
        result.append((key, node))
        start += count
    return result


def converters(function, in_tree, out_tree, names, fixed, outputs):
    """What flattens the arguments of a function and what nests its results; None where they are flat already."""
    arguments = _arguments(_tree(in_tree), names)
    flatten = None
    if arguments is not None and (any(fixed) or any(not _is_leaf(node) for _, node in arguments)):
        flatten = _Arguments(function, arguments, names, fixed)
    tree = _tree(out_tree)
    unflatten = None
    if tree is not None and not _is_leaf(tree) and _leaves(tree) == outputs:
        flat = tree["type"] == "builtins.tuple" and all(map(_is_leaf, tree["children_spec"])) and outputs > 1
        if not flat:
            unflatten = lambda results: _unflatten(tree, iter(results))  # noqa: E731
    return flatten, unflatten


def describe(function):
    """'forward(images: float32[s34, 1, 8, 8]) -> out0: float32[s34, 10]'"""
    inputs, outputs = ", ".join(map(repr, function.inputs)), ", ".join(map(repr, function.outputs))
    return f"{function.name}({inputs}) -> {outputs}"


def describe_model(model):
    if model.closed:
        return f"tern.Model('{model.path}', closed)"
    lines = [f"tern.Model('{model.path}', device='{model.device}')"]
    return "\n  ".join(lines + [describe(f) for f in model.functions.values()])


def signature(function):
    import inspect
    import keyword
    import re

    names = dict.fromkeys(re.sub(r"\W", "_", v.name) for v in function.inputs if not v.fixed)
    parameters = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for name in names
        if name.isidentifier() and not keyword.iskeyword(name)
    ]
    if "out" not in names:  # else the program's own input
        parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)
