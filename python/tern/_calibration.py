"""Calibration samples in memory become files, which the exporter reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import contextmanager

from tern import _tern
from tern._describe import describe
from tern._safetensors import save


def _is_path(value):
    return isinstance(value, (str, os.PathLike))


def _is_array(value):
    return any(hasattr(value, name) for name in ("__dlpack__", "__array_interface__", "__array__")) or isinstance(value, (bool, int, float))


def _leaves(value):
    """The arrays of nested arguments, in order."""
    if isinstance(value, Mapping):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _tensor(value, where):
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu().resolve_conj().resolve_neg()
    if not _is_array(value):
        raise TypeError(f"calibrate: {where} is a {describe(value)}, not an array")
    return _tern.Tensor(value)


def _inputs(sample, number):
    """The tensors of a sample by the names of inputs, or by their places: in0, in1, ..."""
    where = f"sample {number}"
    if isinstance(sample, Mapping):
        return {str(name): _tensor(value, f"input '{name}' of {where}") for name, value in sample.items()}
    leaves = _leaves(sample)
    return {f"in{i}": _tensor(leaf, f"input {i} of {where}" if len(leaves) > 1 else where) for i, leaf in enumerate(leaves)}


def _samples(given):
    """Samples, one after the other. A dictionary, an array, and a tuple of arrays are one sample each."""
    if isinstance(given, Mapping) or _is_array(given) or (isinstance(given, tuple) and all(map(_is_array, given))):
        return [given]
    if not isinstance(given, Iterable):
        raise TypeError(f"calibrate takes files, or samples in memory: dictionaries, tuples or arrays, not a {describe(given)}")
    return given


@contextmanager
def calibration_files(given):
    """Words of --calibrate: the files that were given, and a folder of what was given in memory."""
    if given is None or _is_path(given):
        yield given
        return
    import tempfile

    files = []
    with tempfile.TemporaryDirectory(prefix="tern-") as folder:
        written = 0
        for sample in _samples(given):
            if _is_path(sample):
                files.append(sample)
                continue
            save(os.path.join(folder, f"sample{written}.safetensors"), _inputs(sample, written))
            written += 1
        if not files and written == 0:
            raise ValueError("calibrate: there are no samples")
        yield files + ([folder] if written else [])
