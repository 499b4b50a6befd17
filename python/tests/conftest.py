"""Programs and recorded results of PyTorch that the tests share."""

import json
import os
import pathlib

import numpy as np
import pytest

import tern

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("TERN_TEST_DATA", ROOT / "build/test-data"))
DIGITS = ROOT / "examples/digits"
_TYPES = {
    "F32": "float32",
    "F64": "float64",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
}


def dtype_of(name):
    if name.startswith(("bfloat", "float8")):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def read_safetensors(path):
    """Arrays by their names, each with memory of its own."""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        bytes_ = np.frombuffer(data[8 + size + begin : 8 + size + end], np.uint8).copy()
        arrays[name] = bytes_.view(dtype_of(_TYPES[entry["dtype"]])).reshape(entry["shape"])
    return arrays


def in_order(arrays, prefix):
    return [arrays[f"{prefix}{i}"] for i in range(len(arrays)) if f"{prefix}{i}" in arrays]


def program(name, folder="programs"):
    """A program of the test data, and the arrays of each call that PyTorch made: in0, out0, mut0."""
    path = DATA / folder / f"{name}.pt2"
    if not path.exists():
        pytest.skip(f"tests/scripts/unpack.sh {DATA} makes {path}")
    calls = {}
    for key, array in read_safetensors(path.with_suffix(".safetensors")).items():
        call, dot, rest = key.rpartition(".")
        calls.setdefault(call, {})[rest] = array
    return path, [calls[key] for key in sorted(calls, key=lambda k: (len(k), k))]


@pytest.fixture(scope="session")
def digits_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("digits") / "digits.tern"
    tern.export(DIGITS / "digits.pt2", path)
    return path


@pytest.fixture
def digits(digits_path):
    return tern.load(digits_path)


@pytest.fixture(scope="session")
def recorded():
    return read_safetensors(DIGITS / "digits_test.safetensors")


@pytest.fixture
def images(recorded):
    return recorded["images"][:2].copy()
