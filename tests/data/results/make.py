#!/usr/bin/env python3
"""Makes the cases of tests/data/results.tar.zst: calls with unusual arguments, run by PyTorch.

  make.py OUT [NAME...]      needs torch 2.12 and safetensors
"""
import copy
import os
import sys
import warnings

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from torch.export import Dim, export
from torch.utils._pytree import tree_leaves

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from recorded import ramp, record, save_program, torch_version

warnings.filterwarnings("ignore")
out, wanted = sys.argv[1], sys.argv[2:]
os.makedirs(out, exist_ok=True)
aten = torch.ops.aten


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        result = self.function(*args)
        return result if isinstance(result, torch.Tensor) else tuple(tree_leaves(result))


def case(name, function, *calls, dynamic=None, decompose=False):
    """`calls` are argument tuples, run one after the other."""
    if wanted and name not in wanted:
        return
    module = function if isinstance(function, nn.Module) else Call(function)
    reference = copy.deepcopy(module)
    program = export(module, copy.deepcopy(calls[0]), dynamic_shapes=None if dynamic is None else (dynamic,), strict=False)
    if decompose:
        program = program.run_decompositions()
    save_program(program, f"{out}/{name}.pt2")
    tensors = {}
    for c, args in enumerate(calls):
        tensors |= record(reference, args, f"call{c}.")
    save_file(tensors, f"{out}/{name}.safetensors", metadata={"torch": torch_version()})
    print(name)


torch.manual_seed(0)
t, randn = torch.tensor, torch.randn

# --- meshgrid: the first two axes are exchanged
for name, sizes in (("two", (3, 4)), ("three", (3, 4, 2)), ("one", (3,)), ("no_axes", ((), 4)), ("four", (2, 1, 3, 0))):
    case(f"meshgrid_xy_{name}", lambda *x: torch.meshgrid(*x, indexing="xy"), tuple(randn(n) for n in sizes))
case("meshgrid_xy_dynamic", lambda x, y: torch.meshgrid(x, y, indexing="xy"), (randn(3), randn(4)), (randn(7), randn(2)),
     dynamic=({0: Dim("a", max=9)}, {0: Dim("b", max=9)}))

# --- embedding_bag: a padding index counted from the end; the last row is padding, too
bags = (t([1, 6, 2, 0, 6, 6, 2, 4]), randn(7, 3), t([0, 2, 2, 5]))
for mode in ("sum", "mean", "max"):
    for padding in (-1, -5, -7):
        case(f"embedding_bag_{mode}_padding_{-padding}_from_the_end",
             lambda x, w, o: F.embedding_bag(x, w, o, mode=mode, padding_idx=padding), bags)
case("embedding_bag_module_padding_last", nn.EmbeddingBag(7, 3, mode="sum", padding_idx=-1), (t([[1, 6, 5], [0, 6, 2]]),))
case("embedding_bag_weighted_padding_last",
     lambda x, w, o, p: F.embedding_bag(x, w, o, mode="sum", per_sample_weights=p, padding_idx=-1), (*bags, randn(8)))
case("embedding_bag_no_padding", lambda x, w, o: torch.embedding_bag(w, x, o, padding_idx=None, scale_grad_by_freq=False, mode=0,
                                                                      sparse=False, per_sample_weights=None,
                                                                      include_last_offset=False)[0], bags)

# --- cropping padding
for mode in ("circular", "reflect", "replicate", "constant"):
    case(f"pad_{mode}_crop_left", lambda x: F.pad(x, (-1, 2), mode=mode), (ramp(2, 3, 5),))
    case(f"pad_{mode}_crop_right", lambda x: F.pad(x, (2, -1), mode=mode), (ramp(3, 5),))
    case(f"pad_{mode}_crop_both", lambda x: F.pad(x, (-1, -2), mode=mode), (ramp(2, 3, 5),))
    case(f"pad_{mode}_crop_planes", lambda x: F.pad(x, (-1, 2, 1, -1), mode=mode), (ramp(2, 3, 4, 5),))
    case(f"pad_{mode}_crop_volumes", lambda x: F.pad(x, (2, -1, -1, 1, -1, -1), mode=mode), (ramp(1, 2, 4, 4, 5),))
    if mode != "circular":  # PyTorch refuses to export circular
        case(f"pad_{mode}_crop_dynamic", lambda x: F.pad(x, (-1, 2), mode=mode), (randn(2, 3, 7),), (randn(2, 3, 12),),
             dynamic=({2: Dim("n", min=4, max=20)},))
case("pad_reflect_beyond_crop", lambda x: F.pad(x, (-3, 4), mode="reflect"), (ramp(1, 2, 5),))
case("pad_circular_integers", lambda x: F.pad(x, (-2, 1), mode="circular"), (ramp(2, 3, 5, dtype=torch.int64),))
case("pad_circular_module", nn.CircularPad2d((1, -1, -1, 2)), (ramp(1, 2, 4, 5),))

case("pad_circular_operator", lambda x: (aten._pad_circular(x, (-1, 2)), *(aten._pad_enum(x, (1, -1), m) for m in range(4))), (ramp(2, 3, 5),))

# --- nonzero elements of a tensor without dimensions
for name, x in (("zero", t(0.0)), ("number", t(2.0)), ("true", t(True)), ("false", t(False)), ("integer", t(5))):
    case(f"no_axes_argwhere_{name}", lambda x: torch.argwhere(x), (x,))
    case(f"no_axes_nonzero_{name}", lambda x: torch.nonzero(x), (x,))
    case(f"no_axes_masked_select_{name}", lambda x: (x.masked_select(x != 0), x.nonzero(as_tuple=True)), (x,))

case("no_axes_movedim", lambda x: x.movedim(0, -1) + 1, (t(2.0),))
case("where_of_condition", lambda x: torch.where(x > 0), (randn(3, 4),))

# --- any and all reduce nothing with an empty list of axes, unlike other reductions
for name, x in (("floats", t([[1.0, float("nan")], [0.0, -0.0]])), ("bytes", t([0, 3, 255], dtype=torch.uint8)), ("empty", randn(0, 3))):
    case(f"no_axes_given_any_all_{name}", lambda x: (x.any(dim=()), x.all(dim=(), keepdim=True), x.sum(dim=())), (x,))

# --- numbers and tensors without axes wrap to a narrow integer type before the arithmetic
for dtype in (torch.int8, torch.uint8, torch.int16):
    x, short = t([0, 1, 2, 3, 5, 100, 127]).to(dtype), str(dtype).split(".")[1]
    case(f"wrap_compare_{short}", lambda x: (x != 300, x < 300, x >= -1, x == t(256), 65539 > x), (x,))
    case(f"wrap_divide_{short}", lambda x: (x % -3, x // -2, torch.fmod(x, -3), torch.div(x, -3, rounding_mode="trunc"), x % t(259)), (x,))
    case(f"wrap_choose_{short}", lambda x: (torch.clamp(x, max=-1), torch.maximum(x, t(-1)), torch.where(x > 2, x, -1)), (x,))
case("wrap_logical", lambda x: (torch.logical_and(x, t(256)), torch.logical_or(x, t(-256)), torch.logical_and(x, t(-255))),
     (t([0, 1, 255], dtype=torch.uint8),))

# --- sizes derived from a factor
for mode, factor in (("nearest", 1.7), ("bilinear", (0.9, 1.3)), ("bicubic", 0.7)):
    case(f"interpolate_{mode}_factor_dynamic", lambda x: F.interpolate(x, scale_factor=factor, mode=mode) * 2, (randn(1, 2, 5, 6),),
         (randn(1, 2, 10, 6),), (randn(1, 2, 4, 6),), dynamic=({2: Dim("n", min=4, max=50)},))

case("roll_dynamic_empty", lambda x: x.roll(2, 0) + 1, (randn(5, 4),), (randn(0, 4),), (randn(1, 4),), dynamic=({0: Dim("n", min=0, max=40)},))

# --- sums of 16 bits, rounded by PyTorch after each step
for dtype in (torch.float16, torch.bfloat16):
    short = str(dtype).split(".")[1]
    x, y = (randn(4, 40) * 3 + 6).to(dtype), (1 + torch.rand(4, 40)).to(dtype)
    case(f"soft_margin_loss_{short}", lambda x, y: F.soft_margin_loss(x, y), (x, y))
    case(f"soft_margin_loss_each_{short}", lambda x, y: F.soft_margin_loss(x, y, reduction="none"), (x, y))
    # Three additions into a row: rounding after each addition changes the sum.
    case(f"index_add_{short}", lambda x, y: torch.index_add(x, 0, t([0, 0, 0, 1]), y), (randn(4, 33).to(dtype) * 3, randn(4, 33).to(dtype)))

# --- windows entirely inside the padding; PyTorch's own oneDNN may crash
torch.backends.mkldnn.set_flags(False)
for dtype in (torch.float32, torch.bfloat16, torch.float64):
    short = str(dtype).split(".")[1]
    x, w, b = (v.to(dtype) for v in (randn(1, 8, 3, 10), randn(16, 8, 1, 2), randn(16)))
    case(f"conv_beside_image_{short}", lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=(2, 1)), (x, w, b))
    case(f"conv_beside_image_wide_{short}", lambda x, w: F.conv2d(x, w, padding=(1, 7)), (randn(2, 16, 4, 4).to(dtype), randn(8, 16, 3, 3).to(dtype)))
    case(f"conv_around_image_{short}", lambda x, w: F.conv1d(x, w, padding=6, dilation=9), (randn(2, 16, 3).to(dtype), randn(8, 16, 2).to(dtype)))
torch.backends.mkldnn.set_flags(True)

# --- integers wrap
high = 2**62
x, y = t([[[[high, high, -high], [high, 1, 2], [3, -high, -high]]]]), t([[[[2, 1], [1, 3]]]])
case("wrap_convolution", lambda x, y, b: (F.conv2d(x, y, b), F.conv2d(x, y, b, padding=1), F.conv_transpose2d(x, y, b)), (x, y, t([high])))
case("wrap_pools", lambda x: (F.avg_pool2d(x, 2), F.avg_pool2d(x, 2, divisor_override=-1)), (x,))
case("wrap_fold", lambda x: x.sum(1) + x.prod(-1), (x,))

# --- ranges with symbolic ends and steps that are no integers
one = {0: Dim.DYNAMIC}
for name, f in (("step", lambda x: torch.arange(0, x.shape[0], 0.5)), ("start", lambda x: torch.arange(-x.shape[0], 2.5, 0.75, dtype=torch.float64)),
                ("end", lambda x: torch.arange(0.25, x.shape[0] * 2, 3)), ("half", lambda x: torch.arange(0, x.shape[0], 0.25, dtype=torch.float16))):
    for decompose in (False, True):
        case(f"range_dynamic_{name}" + "_decomposed" * decompose, f, *[(randn(n),) for n in (3, 6, 11)], dynamic=(one,), decompose=decompose)

# --- diagonals written in place
case("fill_diagonal", lambda x, y, z: [v.clone().fill_diagonal_(5.5, wrap=w) for v in (x, x.t(), y, z) for w in (False, True)],
     (ramp(7, 3), ramp(4, 4, dtype=torch.int64), ramp(3, 3, 3)))
# A view's memory beside it stays.
case("fill_diagonal_view", lambda x: (lambda y: (y[1:, ::2].fill_diagonal_(-1), y)[1])(x.clone()), (ramp(5, 6),))

# --- histograms of points: three operators after decompositions
for decompose in (False, True):
    case("histogramdd" + "_decomposed" * decompose, lambda x: (
        torch.histogramdd(x, [3, 2], range=[-1.0, 1.0, -2.0, 2.0]), torch.histogramdd(x, 4, density=True),
        torch.histogramdd(x, [t([-1.0, 0.0, 2.0]), t([0.0, 0.5, 1.0, 3.0])])), (randn(30, 2),), decompose=decompose)

# --- sparse tensors of coordinates, built and read inside a program
places, numbers, few = t([[0, 1, 1, 1], [2, 0, 0, 3]]), t([1.5, -2.0, 0.25, 0.0]), randn(3, 4).relu()
COO = torch.sparse_coo_tensor
sparse = {
    "built": lambda i, v, x, y: (COO(i, v, (3, 4)).to_dense(), COO(i, v, (3, 4)) @ y, torch.sparse.mm(COO(i, v, (3, 4)), y), COO(i[:1], y, (2, 2)).to_dense()),
    "elements": lambda i, v, x, y: (COO(i, v, (3, 4)).coalesce().values(), COO(i, v, (3, 4)).coalesce().indices()),
    "nonzero": lambda i, v, x, y: (x.to_sparse().values(), x.to_sparse().indices()),
    "dense": lambda i, v, x, y: (x.to_sparse().to_dense() * 2, torch.sparse.mm(x.to_sparse(), y), torch.sparse.addmm(y[:3], x.to_sparse(), y, beta=0.5, alpha=2),
                                 (x.to_sparse() * 3 + x.to_sparse()).to_dense(), x.to_sparse().t().to_dense()),
    "sums": lambda i, v, x, y: (torch.sparse.sum(x.to_sparse()), torch.sparse.sum(x.to_sparse(), 0).to_dense(), torch.sparse.sum(COO(i, v, (3, 4)), (0, 1))),
    "softmax": lambda i, v, x, y: (torch.sparse.softmax(x.to_sparse(), 1).to_dense(), torch.sparse.log_softmax(COO(i, v, (3, 4)).coalesce(), 1).to_dense(),
                                   torch.sparse.softmax(COO(i, v, (3, 4)).coalesce(), 0).to_dense()),
}
for name, f in sparse.items():
    for decompose in (False, True):
        if decompose and name in ("built", "dense"):  # PyTorch cannot decompose these
            continue
        case(f"sparse_{name}" + "_decomposed" * decompose, f, (places, numbers, few, randn(4, 2)), decompose=decompose)
case("sparse_dynamic", lambda i, v: COO(i, v, (3, 4)).to_dense() * 2, *[(torch.randint(0, 3, (2, n)), randn(n)) for n in (4, 0, 7)],
     dynamic=({1: Dim.DYNAMIC}, {0: Dim.DYNAMIC}))

# --- ragged rows and padding
case("jagged_padded", lambda v, o: (aten._jagged_to_padded_dense_forward(v, [o], [5], 0.5), aten._jagged_to_padded_dense_forward(v[:, 0], [o], [3], -1.0)),
     (randn(6, 3), t([0, 2, 2, 6])))
case("jagged_ragged", lambda x, o: aten._padded_dense_to_jagged_forward(x, [o], 6), (randn(3, 5, 2), t([0, 2, 2, 6])))
case("pad_sequence", lambda *x: [nn.utils.rnn.pad_sequence(x, first, -1.5, side) for first in (False, True) for side in ("left", "right")],
     (randn(3, 2), randn(5, 2), randn(1, 2)))
case("pad_sequence_lines", lambda *x: nn.utils.rnn.pad_sequence(x), (ramp(3, dtype=torch.int64), ramp(1, dtype=torch.int64)))

case("conv_tbc", lambda x, w, b: (torch.conv_tbc(x, w, b, 1), torch.conv_tbc(x, w, b)), (randn(7, 2, 3), randn(3, 3, 4), randn(4)))
case("rrelu_decomposed", nn.RReLU().eval(), (randn(3, 4),), decompose=True)
