"""The arguments and results that _pytree nests: what is compared, how a call is read, and odd trees. Without torch."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import tern
from tern._pytree import converters, signature


def leaf():
    return {"type": None, "context": None, "children_spec": []}


def node(kind, children, context=None):
    return {"type": "builtins." + kind, "context": json.dumps(context), "children_spec": children}


def spec(args, **kwargs):
    return json.dumps([1, node("tuple", [node("tuple", args), node("dict", list(kwargs.values()), list(kwargs))])])


def flatten_of(args, names, fixed, **kwargs):
    flatten, _ = converters("forward", spec(args, **kwargs), "", names, fixed, 1)
    return lambda *args, **named: flatten(args, named)


@pytest.mark.parametrize(
    ("text", "same", "others"),
    [
        ("2", [2, 2.0, np.float64(2), np.int32(2)], [3, 2.5, True, "2", None, np.ones(3), [2]]),
        ("0.1", [0.1], [0.2, 0, "0.1", None]),
        ("1", [1, 1.0], [True, -1]),
        ("9007199254740993", [9007199254740993], [9007199254740992]),
        ("nan", [float("nan")], [0.0, None]),
        ("True", [True, np.bool_(True)], [False, 1, "True", None]),
        ("None", [None], [0, False, "None", np.ones(1)]),
        ("'scaled'", ["scaled"], ["plain", None, 1]),
    ],
)
def test_fixed_arguments_are_compared(text, same, others):
    call = flatten_of([leaf(), leaf()], ["x", "scale"], ["", text])
    x = np.ones(2)
    assert call(x) == call(x=x) == [x]
    for value in same:
        assert call(x, value) == call(x, scale=value) == [x]
    for value in others:
        with pytest.raises(tern.InvalidArgument, match=f"argument 'scale' of 'forward' was fixed to {text} by the export"):
            call(x, value)
        with pytest.raises(tern.InvalidArgument, match="argument 'scale'"):
            call(x, scale=value)


def test_fixed_leaves_of_nested_arguments():
    call = flatten_of([leaf(), node("dict", [leaf(), leaf()], ["gain", "mode"])], ["x", "o.gain", "o.mode"], ["", "", "'a'"])
    assert call(1, {"gain": 2, "mode": "a"}) == [1, 2]
    with pytest.raises(tern.InvalidArgument, match="argument 'o.mode' .*'a'.* but 'b' was given"):
        call(1, {"gain": 2, "mode": "b"})


def test_a_call_is_read_by_its_structure_first():
    call = flatten_of([node("list", [leaf(), leaf()]), leaf(), leaf(), leaf()], ["xs.0", "xs.1", "y", "flag", "mode"],
                      ["", "", "", "True", "None"])  # fmt: skip
    for arguments in (([1, 2], 3), ([1, 2], 3, True), ([1, 2], 3, True, None), (1, 2, 3)):
        assert call(*arguments) == [1, 2, 3]
    assert call(1, 2, y=3) == call(1, **{"xs.1": 2, "y": 3}) == call(y=3, xs=(1, 2)) == [1, 2, 3]
    with pytest.raises(tern.InvalidArgument, match="argument 'flag'"):
        call([1, 2], 3, False)  # equal numbers of arguments and leaves
    with pytest.raises(TypeError, match="argument 'y' of 'forward' was not given"):
        call([1, 2])
    with pytest.raises(TypeError, match="takes a list or tuple of 2"):
        call([1, 2, 3], 4)
    # A fixed argument between others may be omitted for given leaves.
    between = flatten_of([leaf(), leaf(), node("list", [leaf()])], ["x", "flag", "ys.0"], ["", "True", ""])
    assert between(1, 2) == between(1, True, [2]) == [1, 2]


def deep(levels):
    return '{"type":"builtins.list","context":"null","children_spec":[' * levels + json.dumps(leaf()) + "]}" * levels


TREES = {
    "no json": "{",
    "another version": json.dumps([2, leaf()]),
    "no list": "5",
    "no node": "[1, 5]",
    "no type": '[1, {"children_spec": []}]',
    "type is a number": '[1, {"type": 3, "children_spec": [], "context": null}]',
    "no children": '[1, {"type": "builtins.list", "context": null}]',
    "child is text": '[1, {"type": "builtins.list", "context": null, "children_spec": ["x"]}]',
    "no context": '[1, {"type": "builtins.dict", "children_spec": []}]',
    "keys are a number": json.dumps([1, node("dict", [], 7)]),
    "too few keys": json.dumps([1, node("dict", [leaf(), leaf()], ["a"])]),
    "keys twice": json.dumps([1, node("dict", [leaf(), leaf()], ["a", "a"])]),
    "keys are lists": json.dumps([1, node("dict", [leaf()], [["a"]])]),
    "defaultdict": json.dumps([1, dict(node("x", []), type="collections.defaultdict", context="[1]")]),
    "arguments are a leaf": json.dumps([1, node("tuple", [leaf(), leaf()])]),
    "arguments are a dict": json.dumps([1, node("tuple", [node("dict", [leaf()], ["a"]), node("dict", [leaf()], ["b"])])]),
    "no named arguments": json.dumps([1, node("tuple", [node("tuple", [leaf()]), node("tuple", [leaf()])])]),
    "deep": f"[1, {deep(500)}]",
    "deeper": f"[1, {deep(100_000)}]",
}


@pytest.mark.parametrize("name", TREES)
def test_odd_trees_are_left_out(name):
    leaves = TREES[name].count('"type": null')
    names = [f"in{i}" for i in range(leaves)]
    assert converters("forward", TREES[name], "", names, ["None"] * leaves, 1)[0] is None
    unflatten = converters("forward", "", TREES[name], [], [], leaves)[1]
    if not name.startswith(("arguments", "no named")):  # also valid as results
        assert unflatten is None


@pytest.mark.parametrize(
    ("names", "parameters"),
    [
        (["x", "a.0", "a.1"], ["x", "a_0", "a_1", "out"]),
        (["class", "None", "x"], ["x", "out"]),
        (["out", "x"], ["out", "x"]),
        (["self", "a b", "1", ""], ["self", "a_b", "out"]),
    ],
)
def test_signatures_leave_out_what_python_cannot_name(names, parameters):
    inputs = [SimpleNamespace(name=name, fixed="") for name in names]
    assert list(signature(SimpleNamespace(inputs=inputs)).parameters) == parameters
