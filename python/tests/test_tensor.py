"""tern.Tensor: the same memory in NumPy, DLPack and buffers."""

import ctypes
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

import tern
from conftest import dtype_of

TYPES = "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
SMALL = "bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu".split()


def address(x):
    return x.__array_interface__["data"][0]


@pytest.mark.parametrize("name", TYPES)
def test_types_share_memory(name):
    x = np.arange(6).reshape(2, 3).astype(name)
    t = tern.Tensor(x)
    assert (t.dtype, t.shape, t.strides, t.ndim, t.size, t.nbytes) == (name, (2, 3), (3, 1), 2, 6, x.nbytes)
    assert t.data_ptr == address(x) == address(t.numpy()) == address(np.asarray(t)) == address(np.from_dlpack(t))
    np.testing.assert_array_equal(t.numpy(), x)
    assert t.numpy().dtype == x.dtype
    assert t.tolist() == x.tolist()


@pytest.mark.parametrize("name", SMALL)
def test_small_floats_share_memory(name):
    pytest.importorskip("ml_dtypes")
    x = np.array([1, 2, 0.5, 4]).astype(dtype_of(name))
    t = tern.Tensor(x)
    assert (t.dtype, t.shape) == (name, (4,))
    assert t.data_ptr == address(x) == address(t.numpy())
    assert t.numpy().dtype == x.dtype and t.tolist() == [1, 2, 0.5, 4]
    assert t.bits().dtype == f"uint{8 * x.itemsize}"
    strided = tern.Tensor(x[::2])
    assert strided.tolist() == [1, 0.5]


def test_strides_and_empty_tensors():
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    for y in (x.T, x[:, ::2], x[::-1], x[..., 1], np.broadcast_to(x[0, 0], (5, 4)), x[:0], x[0, 0, 0]):
        t = tern.Tensor(y)
        assert t.shape == y.shape
        np.testing.assert_array_equal(t.numpy(), y)
        np.testing.assert_array_equal(np.from_dlpack(t), y)
    zero = tern.Tensor(np.float32(7))
    assert zero.shape == () and zero.item() == 7 and float(zero) == 7 and int(zero) == 7 and bool(zero)
    with pytest.raises(TypeError):
        len(zero)
    assert tern.Tensor(2.5).dtype == "float64" and tern.Tensor(3).dtype == "int64" and tern.Tensor(True).dtype == "bool"


def test_elements_between_elements_are_refused():
    records = np.zeros(4, np.dtype([("a", "u1"), ("b", "f4")]))
    with pytest.raises(tern.InvalidArgument, match="ascontiguousarray"):
        tern.Tensor(records["b"])


def test_read_only_memory_stays_read_only():
    x = np.ones(3, "float32")
    x.flags.writeable = False
    t = tern.Tensor(x)
    assert t.read_only and not t.numpy().flags.writeable
    assert tern.Tensor(b"abc").read_only
    y = tern.Tensor(np.ones(3, "float32"))
    np.asarray(y)[0] = 5
    assert y[0] == 5 and len(y) == 3


class Holder(np.ndarray):
    """An array that can be referred to weakly."""


def test_lifetimes():
    x = np.arange(3, dtype="float32").view(Holder)
    gone = weakref.ref(x)
    t = tern.Tensor(x)
    del x
    gc.collect()
    assert gone() is not None
    view, shared = np.asarray(t), np.from_dlpack(t)
    del t
    gc.collect()
    assert gone() is not None and view.tolist() == [0, 1, 2]
    del view
    gc.collect()
    assert gone() is not None and shared.tolist() == [0, 1, 2]
    del shared
    gc.collect()
    assert gone() is None


def test_capsules():
    t = tern.Tensor(np.arange(3, dtype="float32"))
    assert t.__dlpack_device__() == (1, 0)
    assert "dltensor_versioned" in repr(t.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(t.__dlpack__())
    before = sys.getrefcount(t)
    for _ in range(100):
        t.__dlpack__(max_version=(1, 0))  # dropped without being taken
    assert sys.getrefcount(t) == before
    assert address(np.from_dlpack(t, copy=True)) != t.data_ptr


class Old:
    """Has DLPack 0.x: no max_version."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


class Bare(Old):
    """Knows no keyword at all, as memory of the CPU needs none."""

    def __dlpack__(self):
        return self.tensor.__dlpack__()


@pytest.mark.parametrize("kind", [Old, Bare])
def test_old_dlpack(kind):
    x = np.arange(3, dtype="float32")
    assert tern.Tensor(kind(tern.Tensor(x))).data_ptr == address(x)


class Given:
    """Gives what `make` does as its capsule."""

    def __init__(self, make, device=(1, 0)):
        self.make, self.device = make, device

    def __dlpack__(self, **_):
        return self.make()

    def __dlpack_device__(self):
        return self.device


def fail(error):
    raise error


def test_errors_of_dlpack_name_the_input():
    used = tern.Tensor(np.ones(2)).__dlpack__()
    assert tern.Tensor(Given(lambda: used)).size == 2
    for make, text in (
        (lambda: used, "incorrect name"),
        (lambda: None, ""),
        (lambda: fail(BufferError("no memory\nof mine")), "no memory$"),
        (lambda: fail(KeyError("x")), "x"),
        (lambda: fail(RuntimeError()), "RuntimeError$"),
    ):
        with pytest.raises(tern.InvalidArgument, match="input 'array' cannot be taken by DLPack: .*" + text):
            tern.Tensor(Given(make))
    for device in ("cpu", None, (1,), ("cpu", 0)):
        with pytest.raises(tern.InvalidArgument, match="input 'array' cannot be taken by DLPack"):
            tern.Tensor(Given(lambda: fail(AssertionError), device))
    with pytest.raises(tern.OutOfMemory, match="input 'array'"):
        tern.Tensor(Given(lambda: fail(MemoryError())))
    with pytest.raises(KeyboardInterrupt):
        tern.Tensor(Given(lambda: fail(KeyboardInterrupt())))
    with pytest.raises(TypeError, match="input 'array' is of type type"):
        tern.Tensor(np.ndarray)
    with pytest.raises(TypeError, match="input 'array' is of type dict"):
        tern.Tensor({})


def test_elements_without_memory(digits):
    def without_memory(shape):
        capsule = tern.Tensor(np.ones(shape, "float32")).__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_void_p.from_address(pointer(capsule, b"dltensor")).value = None  # `data` is the first member
        return Given(lambda: capsule)

    with pytest.raises(tern.InvalidArgument, match="input 'images' cannot be taken .*it has elements, but no memory"):
        digits(without_memory((2, 1, 8, 8)))
    assert tern.Tensor(without_memory((2, 0))).shape == (2, 0)


def test_uninitialized_objects(digits):
    def raw(kind):
        return kind.__new__(kind)

    for kind in (tern.Model, tern.Session, tern.Function):
        with pytest.raises(TypeError, match="never initialized"):
            raw(kind)(np.ones(1))
    with pytest.raises(TypeError, match="never initialized"):
        digits(raw(tern.Tensor))
    with pytest.raises(BufferError, match="never initialized"):
        memoryview(raw(tern.Tensor))


def buffer_is_given(tensor, flags):
    view = ctypes.create_string_buffer(256)  # more than a Py_buffer
    try:
        ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(tensor), view, flags)
    except (BufferError, ValueError):  # the latter is NumPy's
        return False
    ctypes.pythonapi.PyBuffer_Release(view)
    return True


def test_buffers_have_the_layout_that_is_asked_for():
    """The bits of Python's buffer protocol: what NumPy gives for the same array."""
    nd, strides = 0x8, 0x18
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)
    for y in (x, x.T, x[:, ::2], x[:0, ::2], x[:1, :1], x[0, 0, 0], x[0, :, 1], x.transpose(1, 0, 2)):
        for flags in (0, nd, strides, strides | 0x20, strides | 0x40, strides | 0x80):
            assert buffer_is_given(tern.Tensor(y), flags) == buffer_is_given(y, flags), (y.shape, y.strides, flags)


def test_array_protocol():
    t = tern.Tensor(np.arange(3, dtype="float32"))
    assert np.array(t, dtype="float64").dtype == np.float64
    assert t.__array__(copy=True).ctypes.data != t.data_ptr
    with pytest.raises(ValueError, match="would be a copy"):
        t.__array__("float64", copy=False)
    assert t.copy().data_ptr != t.data_ptr


def test_pickle_is_refused():
    with pytest.raises(TypeError, match=r"pickle tensor.numpy\(\)"):
        pickle.dumps(tern.Tensor(np.ones(1)))


def text_of(array):
    return str(tern.Tensor(array))


def test_text_shows_values():
    assert text_of(np.ones((2,), "float32")) == "tern.Tensor([1., 1.], shape=(2,), dtype=float32)"
    assert text_of(np.array(-3, "int8")) == "tern.Tensor(-3, shape=(), dtype=int8)"
    assert text_of(np.zeros((0, 4), "float64")) == "tern.Tensor([], shape=(0, 4), dtype=float64)"
    assert text_of(np.array([[1, 2], [3, 4]])).split() == "tern.Tensor([[1, 2], [3, 4]], shape=(2, 2), dtype=int64)".split()
    assert text_of(np.array([True, False])) == "tern.Tensor([ True, False], shape=(2,), dtype=bool)"
    assert text_of(np.array([1 + 2j])) == "tern.Tensor([1.+2.j], shape=(1,), dtype=complex128)"
    assert text_of(np.array([np.nan, np.inf, 0.5], "float16")) == "tern.Tensor([nan, inf, 0.5], shape=(3,), dtype=float16)"
    assert text_of(np.arange(12).reshape(3, 4).T[::2]).split() == text_of(np.arange(12).reshape(3, 4).T[::2].copy()).split()
    assert repr(tern.Tensor(np.ones(1))) == text_of(np.ones(1))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float6_e2m3fn"])
def test_text_of_small_floats(name):
    array = np.array([0.5, 2, 1, 4]).astype(getattr(pytest.importorskip("ml_dtypes"), name))
    values = [float(v) for v in text_of(array).split("[")[1].split("]")[0].split(",")]
    assert values == [float(x) for x in array]
    assert f"dtype={tern.Tensor(array).dtype})" in text_of(array)


def test_text_of_packed_values(tmp_path):
    """Values of int4 share bytes; each is shown."""
    from conftest import DIGITS

    tern.export(DIGITS / "digits.pt2", tmp_path / "int4.tern", quantize="int4")
    model = tern.load(tmp_path / "int4.tern")
    name = next(s.name for s in model.states if s.dtype == "int4")
    codes = model.read_state(name)
    packed = codes.bits().numpy()
    values = np.stack([packed & 15, packed >> 4], -1).astype(int).reshape(codes.shape)
    values[values > 7] -= 16
    lines = str(codes).replace("\n", " ")
    first = [int(v) for v in lines.split("[[")[1].split(",")[:3]]
    assert first == values.reshape(codes.shape[0], -1)[0, :3].tolist() and "dtype=int4" in lines


def test_text_of_large_tensors_reads_their_edges_alone():
    array = np.arange(6_000_000, dtype="float32").reshape(3, 1000, 2000)
    text = text_of(array)
    assert text.count("...") == 3 * 7 and len(text) < 3000
    for value in (array[0, 0, 0], array[2, 999, 1999], array[1, 2, 1998], array[0, 997, 0]):
        assert f"{value:.6e}" in text or f"{value:.0f}." in text
    # A tensor of a terabyte of address space: reading more than the shown elements would take too long.
    wide = np.lib.stride_tricks.as_strided(np.ones(1, "float32"), (1 << 20, 1 << 18), (0, 0))
    assert "..." in text_of(wide) and f"shape={wide.shape}" in text_of(wide)
    with np.printoptions(threshold=5, edgeitems=1):
        assert text_of(np.arange(9)) == "tern.Tensor([0, ..., 8], shape=(9,), dtype=int64)"
    assert len(text_of(np.ones((2,) * 12))) < 200_000
