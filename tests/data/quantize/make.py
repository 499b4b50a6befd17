"""Makes tests/exporter/passes/quantize/goldens.h: check sums of what torchao quantizes numbers to that the test can make, too.

Run with torch 2.12 and torchao 0.18: python tests/data/quantize/make.py > tests/exporter/passes/quantize/goldens.h
"""
import zlib

import numpy as np
import torch
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import MXTensor, to_mx
from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale
from torchao.quantization.granularity import PerRow
from torchao.quantization.quantize_.workflows.float8.float8_tensor import Float8Tensor
from torchao.quantization.quantize_.workflows.int8.int8_tensor import Int8Tensor
from torchao.quantization.quantize_.workflows.intx.intx_unpacked_to_int8_tensor import IntxUnpackedToInt8Tensor

ROWS, COLUMNS = 2048, 256
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
SETS = ["near", "spread", "codes", "ties", "tiny", "zeros", "nan", "infinite"]


def random(stream, count):
    """splitmix64 of stream * 2^32 + i."""
    with np.errstate(over="ignore"):
        z = (np.arange(count, dtype=np.uint64) + np.uint64(stream << 32)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def bits_of(name, number):
    """The 32 or 16 bits of numbers that the type holds exactly."""
    t = torch.from_numpy(number.astype(np.float32)).to(TYPES[name])
    assert np.array_equal(t.float().numpy(), number.astype(np.float32))
    return t


def numbers(name, kind):
    n = ROWS * COLUMNS
    stream = SETS.index(kind)
    u, v = random(2 * stream, n), random(2 * stream + 1, n // 16).repeat(16)
    digits = {"float32": 24, "bfloat16": 8, "float16": 11}[name]
    narrow = name == "float16"
    whole = (u & np.uint64(2**digits - 1)).astype(np.float64) - 2 ** (digits - 1)
    spread = (v % np.uint64(12 if narrow else 60)).astype(np.int64) - (6 if narrow else 30)
    exponent = (v % np.uint64(7)).astype(np.int64) - 3 if kind == "near" else spread
    x = bits_of(name, np.ldexp(whole, exponent - (digits - 1)))
    if kind == "codes":
        depth = ((u >> np.uint64(8)) % np.uint64(10 if narrow else 24)).astype(np.int64)
        sign = 1.0 - 2.0 * ((u >> np.uint64(40)) & np.uint64(1)).astype(np.float64)
        x = bits_of(name, np.ldexp(sign * (128 + (u & np.uint64(127)).astype(np.float64)), -7 - depth))
    if kind == "ties":
        step = (v % np.uint64(5)).astype(np.int64) - 10
        x = bits_of(name, np.ldexp((u % np.uint64(511)).astype(np.float64) - 255, step))
    mask = {"float32": 0x80FFFFFF, "bfloat16": 0x80FF, "float16": 0x87FF}[name]
    quiet = {"float32": 0x7FC00000, "bfloat16": 0x7FC0, "float16": 0x7E00}[name]
    payload = {"float32": 0x803FFFFF, "bfloat16": 0x803F, "float16": 0x81FF}[name]
    infinity = {"float32": 0x7F800000, "bfloat16": 0x7F80, "float16": 0x7C00}[name]
    word = np.uint32 if name == "float32" else np.uint16
    codes = x.view(torch.int32 if name == "float32" else torch.int16).numpy().view(word).copy()
    sign_bit = word(0x80000000 if name == "float32" else 0x8000)
    low = (u & np.uint64(0xFFFFFFFF)).astype(np.uint32).astype(word)
    rare = (u >> np.uint64(32)) % np.uint64(499) == 0
    if kind == "tiny":
        codes = low & word(mask)
    if kind == "zeros":
        codes = np.where(v % np.uint64(3) == 0, low & sign_bit, codes)
        codes[::COLUMNS] = word({"float32": 0x3F800000, "bfloat16": 0x3F80, "float16": 0x3C00}[name])
    if kind == "nan":
        codes = np.where(rare, (low & word(payload)) | word(quiet), codes)
    if kind == "infinite":
        codes = np.where(rare, (low & sign_bit) | word(infinity), codes)
    signed = np.int32 if name == "float32" else np.int16
    return torch.from_numpy(codes.astype(word).view(signed)).view(TYPES[name]).reshape(ROWS, COLUMNS)


def bytes_of(t):
    t = t.contiguous()
    if t.dtype in (torch.float32, torch.bfloat16, torch.float16):
        nan = torch.isnan(t)
        if t.dtype == torch.float32:
            t = torch.where(nan, torch.tensor(0x7FC00000, dtype=torch.int32), t.view(torch.int32))
        else:
            quiet = 0x7FC0 if t.dtype == torch.bfloat16 else 0x7E00
            t = torch.where(nan, torch.tensor(quiet, dtype=torch.int16), t.view(torch.int16))
    return t.view(torch.uint8).numpy().tobytes()


def nibbles(q):
    q = q.to(torch.int16)
    return ((q[:, ::2] & 15) | ((q[:, 1::2] & 15) << 4)).to(torch.uint8)


MX = {"mxfp4": torch.float4_e2m1fn_x2, "mxfp6_e2m3": "fp6_e2m3", "mxfp6_e3m2": "fp6_e3m2",
      "mxfp8_e4m3": torch.float8_e4m3fn, "mxfp8_e5m2": torch.float8_e5m2}
MODES = {"floor": ScaleCalculationMode.FLOOR, "even": ScaleCalculationMode.EVEN, "ceil": ScaleCalculationMode.CEIL}


def quantized(name, mode, x):
    if name == "int8":
        q = Int8Tensor.from_hp(x, PerRow())
        return [q.qdata, q.scale]
    if name == "int4":
        q = IntxUnpackedToInt8Tensor.from_hp(x, (1, 32), torch.int4)
        return [nibbles(q.qdata), q.scale]
    if name == "float8":
        q = Float8Tensor.from_hp(x)
        codes = q.qdata.view(torch.uint8)
        return [torch.where(codes == 0xFF, 0x7F, codes), q.scale]  # NaN of either sign
    if x.dtype == torch.float16:  # unsupported in torchao
        x = x.float()
    if name == "nvfp4":
        outer = per_tensor_amax_to_scale(torch.max(torch.abs(x)))
        scale, q = nvfp4_quantize(x, 16, outer)
        return [q.view(torch.uint8), scale.view(torch.uint8), outer.reshape(1)]
    scale, q = to_mx(x, MX[name], 32, MODES[mode])
    return [q.view(torch.uint8), scale.view(torch.uint8)]


def activated(name, mode, x):
    """What products multiply: float8 elements and scales, or the numbers of MX blocks."""
    if name == "float8":
        return quantized(name, mode, x)
    if x.dtype == torch.float16:
        x = x.float()
    return [MXTensor.to_mx(x, MX[name], 32, MODES[mode]).dequantize(x.dtype)]


def main():
    print("// Written by tests/data/quantize/make.py.\n#pragma once\n\n#include <cstdint>\n\nnamespace tern::testing {\n")
    print("struct QuantizeGolden {\n  const char *format, *mode, *type, *set;\n  std::uint32_t crc;\n};\n")
    print("// clang-format off\ninline constexpr QuantizeGolden kQuantizeGoldens[] = {")
    for kind in SETS:
        for type_name in TYPES:
            x = numbers(type_name, kind)
            for name in ["int8", "int4", "float8", "nvfp4", *MX]:
                for mode in MODES if name in MX and type_name == "float32" else ["floor"]:
                    crc = 0
                    for part in quantized(name, mode, x):
                        crc = zlib.crc32(bytes_of(part), crc)
                    print(f'    {{"{name}", "{mode}", "{type_name}", "{kind}", 0x{crc:08x}}},')
    print("};\n\n/// Of activations beside weights in the format.\ninline constexpr QuantizeGolden kActivationGoldens[] = {")
    for kind in SETS:
        for type_name in TYPES:
            x = numbers(type_name, kind)
            for name in ["float8", *MX]:
                for mode in MODES if name in MX and type_name == "float32" else ["floor"]:
                    crc = 0
                    for part in activated(name, mode, x):
                        crc = zlib.crc32(bytes_of(part), crc)
                    print(f'    {{"{name}", "{mode}", "{type_name}", "{kind}", 0x{crc:08x}}},')
    print("};\n// clang-format on\n\n}  // namespace tern::testing")


main()
