"""Values in messages: types and shapes, never contents."""

from __future__ import annotations

from typing import Any


def describe(value: Any) -> str:
    """'numpy.ndarray of float32 [2, 3]', 'list of 4', 'int'."""
    name = type(value).__name__
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple):  # torch.Size is a tuple, too
        package = type(value).__module__.split(".")[0]
        return f"{package}.{name} of {str(dtype).removeprefix('torch.')} [{', '.join(map(str, shape))}]"
    if isinstance(value, (list, tuple, dict, set)):
        return f"{name} of {len(value)}"
    return name
