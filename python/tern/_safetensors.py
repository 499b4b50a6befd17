"""Writes tensors to a .safetensors file: a length, a JSON header, bytes."""

from __future__ import annotations

import json

_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "uint16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "uint64": "U64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "complex128": "C128",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
}


def save(path, tensors):
    """Saves tern.Tensors by their names."""
    header, start, parts = {}, 0, []
    for name, tensor in tensors.items():
        if tensor.dtype not in _NAMES:
            raise TypeError(f".safetensors files do not support elements of type {tensor.dtype} ('{name}')")
        # Results of copy() are contiguous, and codes have a buffer for every type.
        data = memoryview(tensor.copy() if tensor.dtype.startswith("complex") else tensor.copy().bits())
        data = data.tobytes()
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, start + len(data)],
        }
        start += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        file.writelines(parts)
