"""tern.Tensor as arrays of NumPy and torch. Neither is imported before it is asked for."""

# Types available in NumPy only through ml_dtypes.
_ML_DTYPES = {
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
    "float8_e4m3fnuz": "float8_e4m3fnuz",
    "float8_e5m2fnuz": "float8_e5m2fnuz",
    "float8_e8m0fnu": "float8_e8m0fnu",
    "float6_e2m3": "float6_e2m3fn",
    "float6_e3m2": "float6_e3m2fn",
}


def numpy(tensor):
    import numpy as np

    if tensor.device != "cpu":
        raise TypeError(f"the tensor is on {tensor.device}, but NumPy's arrays are in the CPU's memory; use its cpu()")
    try:
        return np.asarray(memoryview(tensor))
    except BufferError:
        name = _ML_DTYPES.get(tensor.dtype)
        if name is None:
            raise TypeError(f"NumPy does not support {tensor.dtype}; Tensor.bits() returns the bytes") from None
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(
            f"NumPy supports {tensor.dtype} only with the package ml_dtypes: pip install ml_dtypes; "
            "Tensor.bits() returns the codes, Tensor.torch() a torch tensor"
        ) from None
    return np.asarray(memoryview(tensor.bits())).view(getattr(ml_dtypes, name))


def array(tensor, dtype=None, copy=None):
    import numpy as np

    result = numpy(tensor)
    if dtype is not None and result.dtype != np.dtype(dtype):
        if copy is False:
            raise ValueError(f"an array of {np.dtype(dtype)} would be a copy of the tensor of {tensor.dtype}")
        return result.astype(dtype)
    return result.copy() if copy else result


def torch(tensor):
    from importlib import import_module

    return import_module("torch").from_dlpack(tensor)


def truth(tensor):
    return bool(numpy(tensor).astype(bool))


def reduce(value):
    """Nothing of Tern is pickled: models are mapped files, tensors may borrow memory."""
    kind = type(value).__name__
    instead = {
        "Tensor": "pickle tensor.numpy()",
        "Model": "pickle model.path, and load() it there",
    }.get(kind, "load() the archive where it is needed")
    raise TypeError(f"a tern.{kind} cannot be pickled or copied by copy.copy; {instead}")
