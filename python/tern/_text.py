"""Texts of tensors: values, as NumPy prints them, with shape and dtype."""

_MOST_SHOWN = 20000
_ROUNDED = 4  # digits of floats missing in NumPy: further digits would show the rounding error


def _edge(shape, edge):
    """Elements at either end of a long axis. Fewer if the tensor has many axes."""

    def shown(edge):
        count = 1
        for size in shape:
            count *= min(size, 2 * edge + 1)
        return count

    while edge > 1 and shown(edge) > _MOST_SHOWN:
        edge -= 1
    return edge


def facts(tensor):
    """'shape=(2, 3), dtype=float32'"""
    place = "" if tensor.device == "cpu" else f", device={tensor.device}"
    return f"shape={tensor.shape}, dtype={tensor.dtype}{place}"


def text(tensor):
    import sys

    import numpy as np

    options = np.get_printoptions()
    summarised = tensor.size > options["threshold"]
    edge = _edge(tensor.shape, options["edgeitems"]) if summarised else max((1, *tensor.shape))
    shown = np.asarray(memoryview(tensor._summary(edge)))
    small = tensor.dtype.startswith(("bfloat16", "float8", "float6", "float4"))
    values = np.array2string(
        shown,
        precision=min(_ROUNDED, options["precision"]) if small else None,
        separator=", ",
        prefix="tern.Tensor(",
        suffix=",",
        threshold=0 if summarised else sys.maxsize,
        edgeitems=edge,
    )
    if shown.size == 0:
        return f"tern.Tensor([], {facts(tensor)})"
    # Shape and type move to a line of their own where the last line of values leaves no room.
    last = len(values) - values.rfind("\n") - 1 + ("\n" not in values) * len("tern.Tensor(")
    wide = last + len(facts(tensor)) + 3 > options["linewidth"]
    return f"tern.Tensor({values},{chr(10) + ' ' * len('tern.Tensor(') if wide else ' '}{facts(tensor)})"
