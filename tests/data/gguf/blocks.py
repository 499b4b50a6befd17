#!/usr/bin/env python3
"""Makes tests/data/gguf/blocks.bin: random blocks of each type of GGUF, with their values by PyPI's gguf (gguf.quants.dequantize).

  blocks.py OUT

For each type: its number, rows, columns and bytes as uint64, the bytes, and rows * columns values of float32.
"""
import sys

import gguf
import numpy as np
from gguf.constants import GGML_QUANT_SIZES
from gguf.constants import GGMLQuantizationType as Type

random = np.random.default_rng(7)
# Places of float16 numbers in a block.
HALVES = {Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2],
          Type.Q6_K: [208], Type.MXFP4: []}
ROWS = 2


def halves(count):
    return (random.uniform(-2, 2, count) * 2.0 ** random.integers(-16, 6, count)).astype(np.float16).reshape(-1, 1).view(np.uint8)


with open(sys.argv[1], "wb") as out:
    for kind, places in HALVES.items():
        elements, size = GGML_QUANT_SIZES[kind]
        columns = 2 * elements if elements == 256 else 3 * elements
        raw = random.integers(0, 256, (ROWS * columns // elements, size), dtype=np.uint8)
        for at in places:
            raw[:, at:at + 2] = halves(len(raw))
        if kind == Type.MXFP4:
            raw[:, 0] = random.integers(0, 255, len(raw))  # 255 is NaN in the specification, and not in GGML
        values = gguf.quants.dequantize(raw.reshape(ROWS, -1), kind).astype(np.float32)
        assert np.isfinite(values).all()
        out.write(np.array([kind.value, ROWS, columns, raw.size], np.uint64).tobytes() + raw.tobytes() + values.tobytes())
