"""Makes the files beside it with NumPy and the safetensors library: python make.py (needs numpy, ml_dtypes, safetensors).

Every array counts upwards: element i, in row-major order, is i - 3 (unsigned: i; boolean: i % 3 == 0; complex: i - 3 + 0.5j * i);
the small floats hold the codes i * 5 % 256, 6-bit ones i * 5 % 64, 4-bit ones i % 16.
"""

import pathlib
import zipfile

import numpy as np
import safetensors
import safetensors.numpy

HERE = pathlib.Path(__file__).parent


def counting(dtype, shape):
    i = np.arange(np.prod(shape, dtype=int))
    kind = np.dtype(dtype).kind
    if kind == "b":
        a = i % 3 == 0
    elif kind == "u":
        a = i
    elif kind == "c":
        a = i - 3 + 0.5j * i
    else:
        a = i - 3
    return a.astype(dtype).reshape(shape)


KEPT = []


def raw(dtype, shape, data):
    data = np.frombuffer(bytes(data), "u1")
    KEPT.append(data)  # the library takes a pointer
    return safetensors.TensorSpec(dtype=dtype, shape=shape, data_ptr=data.ctypes.data, data_len=data.nbytes)


NUMPY_TYPES = "bool u1 i1 i2 i4 i8 u2 u4 u8 f2 f4 f8 c8 c16".split()
arrays = {t: counting(t, (2, 3)) for t in NUMPY_TYPES}
arrays["scalar"] = np.array(1.5, "f4")
arrays["empty"] = np.zeros((0, 4), "f4")

for t in NUMPY_TYPES:
    np.save(HERE / f"{t}.npy", arrays[t])
np.save(HERE / "scalar.npy", arrays["scalar"])
np.save(HERE / "empty.npy", arrays["empty"])
np.save(HERE / "vector.npy", counting("f4", (5,)))
np.save(HERE / "fortran.npy", np.asfortranarray(counting("i4", (2, 3, 4))))
np.save(HERE / "big_endian.npy", counting(">f4", (3,)))
np.save(HERE / "record.npy", np.zeros(2, [("a", "f4"), ("b", "i4")]))
np.save(HERE / "object.npy", np.array([{}, None], dtype=object), allow_pickle=True)
np.save(HERE / "text.npy", np.array(["ab", "c"]))
for version in (2, 3):
    with open(HERE / f"version{version}.npy", "wb") as f:
        np.lib.format.write_array(f, counting("f4", (2, 3)), version=(version, 0))

np.savez(HERE / "stored.npz", **arrays)
np.savez_compressed(HERE / "deflated.npz", **arrays, zeros=np.zeros(2000, "i4"))
with zipfile.ZipFile(HERE / "not_an_array.npz", "w") as z:
    z.writestr("readme.txt", "text")

safetensors.numpy.save_file(
    {k: v for k, v in arrays.items() if k not in ("c8", "c16")},
    HERE / "numpy.safetensors",
    metadata={"op": 'a "quoted"\nname \x01 \u00fc'},
)
codes = [i * 5 % 256 for i in range(16)]
safetensors.serialize_file(
    {
        "bf16": raw("bfloat16", [2, 4], codes),
        "c8": raw("complex64", [2, 3], arrays["c8"].tobytes()),
        "e4m3": raw("float8_e4m3fn", [16], codes),
        "e5m2": raw("float8_e5m2", [16], codes),
        "e4m3fnuz": raw("float8_e4m3fnuz", [16], codes),
        "e5m2fnuz": raw("float8_e5m2fnuz", [16], codes),
        "e8m0": raw("float8_e8m0fnu", [16], codes),
        "f4": raw("float4_e2m1fn_x2", [2, 4], [(2 * i % 16) | ((2 * i + 1) % 16) << 4 for i in range(8)]),
    },
    HERE / "small_floats.safetensors",
    None,
)

# Pairs for the comparison, with results of numpy.isclose: close_0 with rtol 1e-3, atol 1e-5, close_1 with atol 0.5
# alone.
INF, NAN = float("inf"), float("nan")
special = [0.0, -0.0, 1.0, 1.0005, 1.002, -1.0, 1e-6, 2e-5, 1e30, 1e30 * 1.0005, 1e-42, INF, -INF, NAN]
a, b = (m.ravel() for m in np.meshgrid(np.array(special, "f4"), np.array(special, "f4"), indexing="ij"))
parts = [0.0, 1.0, 1.0005, -1.0, INF, NAN]
z = np.array([complex(re, im) for re in parts for im in parts], "c8")
za, zb = (m.ravel() for m in np.meshgrid(z, z, indexing="ij"))


def closeness(a, b):
    wide = "c16" if a.dtype.kind == "c" else "f8"
    a, b = a.astype(wide), b.astype(wide)
    with np.errstate(invalid="ignore"):
        return [np.isclose(a, b, rtol, atol, equal_nan=True) for rtol, atol in ((1e-3, 1e-5), (0, 0.5))]


def tensor(array):
    names = {"f4": "float32", "c8": "complex64", "b1": "bool"}
    return raw(names[array.dtype.str[1:]], list(array.shape), array.tobytes())


pairs = {"real.a": a, "real.b": b, "complex.a": za, "complex.b": zb}
for i in range(2):
    pairs[f"real.close_{i}"] = closeness(a, b)[i]
    pairs[f"complex.close_{i}"] = closeness(za, zb)[i]
safetensors.serialize_file({k: tensor(v) for k, v in pairs.items()}, HERE / "isclose.safetensors", None)
