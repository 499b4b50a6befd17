"""Every program and model of the test data against PyTorch's recorded results: with TERN_TEST_FULL.

`tern conform` holds each type to its own bound, in the parts of the gate before this one. Here one bound serves all: the
package passes arrays on, and what it can get wrong is their order, types, sizes and lifetimes.
"""

import os

import numpy as np
import pytest

import tern
from conftest import DATA, in_order, program
from test_calls import leaves_of

FOLDERS = ["programs", "models", "import", "mx"] if os.environ.get("TERN_TEST_FULL") else []
CASES = [(f, p.stem) for f in FOLDERS for p in sorted((DATA / f).glob("*.pt2")) if p.with_suffix(".safetensors").exists()]


def compare(actual, wanted):
    assert actual.shape == wanted.shape
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    with np.errstate(invalid="ignore"):
        a, b = actual.numpy().astype(kind), wanted.astype(kind)
    finite = np.isfinite(b)
    np.testing.assert_array_equal(np.isfinite(a), finite)
    largest = np.abs(b[finite]).max(initial=0)
    assert np.abs(a[finite] - b[finite]).max(initial=0) <= 2e-2 * largest + 1e-4


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_case(folder, name):
    path, calls = program(name, folder)
    model = tern.load(path, weight_cache="off")
    names = [v.name for v in model.inputs if not v.fixed]
    for call in calls:
        inputs, expected = in_order(call, "in"), in_order(call, "out")
        if len(names) < len(inputs):
            pytest.skip("the case has inputs that export fixed")
        results = [x for x in leaves_of(model(**dict(zip(names, inputs)))) if x is not None]
        assert len(results) == len(expected)
        for actual, wanted in zip(results, expected):
            compare(actual, wanted)
