#!/usr/bin/env python3
"""Makes the cases of tests/data/traced.tar.zst: programs as PyTorch 2.15 traces them, with guards between sizes, dual
numbers, operators of torch._prims and torchaudio, and nodes whose results nothing reads.

  make.py OUT [NAME...]      needs torch 2.15, torchaudio 2.11 and safetensors

A guard case has a call for each set of sizes below. PyTorch decides which calls the guards refuse: those have an
expected error in place of results.
"""
import copy
import math
import os
import sys
import warnings

import torch
from safetensors.torch import save_file
from torch import nn
from torch.export import Dim, export
from torch.utils._pytree import tree_leaves

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from recorded import plain, ramp, record, save_program, torch_version

warnings.filterwarnings("ignore")
out, wanted = sys.argv[1], sys.argv[2:]
os.makedirs(out, exist_ok=True)
auto = Dim.AUTO
REFUSED = "the program "  # assumes, or takes: a guard, or the range of a size


def save(name, program, tensors, **metadata):
    save_program(program, f"{out}/{name}.pt2")
    save_file(tensors, f"{out}/{name}.safetensors", metadata={"torch": torch_version(), **metadata})
    print(name, {k: v for k, v in metadata.items() if k.endswith("error")} and "with refused calls" or "")


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def guarded(name, module, *calls, dynamic, strict=False):
    """calls[0] is what the program is traced with."""
    if wanted and name not in wanted:
        return
    if not isinstance(module, nn.Module):
        module, dynamic = Function(module), (dynamic,)
    program = export(module, copy.deepcopy(calls[0]), dynamic_shapes=dynamic, strict=strict)
    checked = program.module()
    tensors, metadata = {}, {}
    for k, args in enumerate(calls):
        tensors |= {f"call{k}.in{i}": plain(x) for i, x in enumerate(tree_leaves(args)) if x is not None}
        try:
            results = checked(*copy.deepcopy(args))
        except AssertionError as e:
            assert "Guard failed" in str(e), e
            metadata[f"call{k}.error"] = REFUSED
            continue
        tensors |= {f"call{k}.out{i}": plain(x) for i, x in enumerate(tree_leaves(results))}
    assert program._guards_code and metadata, (name, program._guards_code)
    save("guard_" + name, program, tensors, **metadata)


def sizes(*shapes):
    return [(ramp(*shape) / 7,) for shape in shapes]


def branch(condition):
    return lambda x: x + 1 if condition(x) else x - 1


PAIRS = sizes((7, 3), (3, 7), (5, 5), (8, 2), (4, 9), (16, 4), (9, 8), (30, 11), (2, 2))
LINES = sizes((7, 3), (6, 3), (8, 3), (9, 3), (10, 3), (16, 3), (28, 3), (57, 3), (64, 3), (100, 3), (3, 3))
one, both = ({0: auto},), ({0: auto, 1: auto},)
guarded("greater", branch(lambda x: x.shape[0] > x.shape[1]), *PAIRS, dynamic=both)
guarded("at_least", branch(lambda x: x.shape[0] >= x.shape[1] + 2), *PAIRS, dynamic=both)
guarded("product", branch(lambda x: x.shape[0] * x.shape[1] > 20), *PAIRS, dynamic=both)
guarded("numel", branch(lambda x: x.numel() % 3 == 0), *PAIRS, dynamic=both)
guarded("parity", branch(lambda x: x.shape[0] % 2 == 1), *LINES, dynamic=one)
guarded("float_product", branch(lambda x: x.shape[0] * 0.7 > 4.2), *LINES, dynamic=one)
guarded("quotient", branch(lambda x: x.shape[0] / x.shape[1] > 1.3), *PAIRS, dynamic=both)
guarded("trunc", branch(lambda x: int(x.shape[0] * 0.7) == 4), *LINES, dynamic=one)
guarded("floor", branch(lambda x: math.floor(x.shape[0] * 0.1) == 0), *LINES, dynamic=one)
guarded("ceil", branch(lambda x: math.ceil(x.shape[0] / 4) == 2), *LINES, dynamic=one)
guarded("round", branch(lambda x: round(x.shape[0] * 0.7) == 5), *LINES, dynamic=one)
guarded("round_decimal", branch(lambda x: round(x.shape[0] / 3.0, 1) < 2.7), *LINES, dynamic=one)
guarded("root", branch(lambda x: x.shape[0] ** 0.5 < 2.9), *LINES, dynamic=one)
guarded("square", branch(lambda x: x.shape[0] ** 2 > 40), *LINES, dynamic=one)
guarded("power", branch(lambda x: 2 ** x.shape[1] >= x.shape[0]), *PAIRS, dynamic=both)
guarded("max", branch(lambda x: torch.sym_max(x.shape[0], x.shape[1]) > 6), *PAIRS, dynamic=both)
guarded("min", branch(lambda x: torch.sym_min(x.shape[0], x.shape[1]) < 4), *PAIRS, dynamic=both)
guarded("and", branch(lambda x: bool((x.shape[0] > 5) & (x.shape[1] < 4))), *PAIRS, dynamic=both)
guarded("or", branch(lambda x: bool((x.shape[0] > 9) | (x.shape[1] < 4))), *PAIRS, dynamic=both)
guarded("unequal", branch(lambda x: x.shape[0] != x.shape[1]), *PAIRS, dynamic=both)
guarded("mod", branch(lambda x: x.shape[0] % x.shape[1] == 1), *PAIRS, dynamic=both)
guarded("python_mod", branch(lambda x: (x.shape[0] - 20) % x.shape[1] == 2), *PAIRS, dynamic=both)
guarded("floordiv", branch(lambda x: x.shape[0] // x.shape[1] == 2), *PAIRS, dynamic=both)
guarded("abs", branch(lambda x: abs(x.shape[0] - x.shape[1]) < 5), *PAIRS, dynamic=both)
guarded("bits", branch(lambda x: (x.shape[0] & (x.shape[0] - 1)) == 0), *LINES[2:], dynamic=one)
guarded("choice", branch(lambda x: torch.sym_ite(x.shape[0] > x.shape[1], x.shape[0], x.shape[1] * 2) > 6), *PAIRS,
        dynamic=both)
guarded("divisible_view", lambda x: x.view(-1, 4), *[c for c in LINES if c[0].numel() % 4 == 0],
        (ramp(7, 3),), dynamic=one)
guarded("factor", lambda x: nn.functional.interpolate(x, scale_factor=0.6)[:, :, :3],
        *sizes((1, 2, 9, 9), (1, 2, 8, 7), (1, 2, 5, 4), (1, 2, 20, 3)), dynamic=({2: auto, 3: auto},))
guarded("convolution", lambda x: nn.functional.conv2d(x, torch.ones(3, 2, 3, 3), stride=2),
        *sizes((1, 2, 9, 9), (2, 2, 7, 5), (1, 2, 9, 3)), dynamic=({2: auto, 3: auto},))
guarded("strict", branch(lambda x: x.shape[0] > x.shape[1]), *PAIRS, dynamic=both, strict=True)
guarded("stride", branch(lambda x: x.stride(0) * 2 > x.shape[0]), *PAIRS, dynamic=both)


class TwoInputs(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y):
        return self.function(x, y)


def two(function):
    return TwoInputs(function)


TWO = [(ramp(n, 3), ramp(m, 3)) for n, m in ((7, 5), (5, 3), (5, 7), (6, 5), (9, 2))]
guarded("difference", two(lambda x, y: x + 1 if x.shape[0] == y.shape[0] + 2 else x - 1), *TWO,
        dynamic=({0: auto}, {0: auto}))
guarded("sum", two(lambda x, y: x + 1 if x.shape[0] + y.shape[0] > 10 else x - 1), *TWO,
        dynamic=({0: auto}, {0: auto}))
guarded("integer", two(lambda x, n: x[:n] if n < x.shape[0] else x - 1),
        *[(ramp(7, 3), n) for n in (5, 3, 7, 9)], dynamic=({0: auto}, auto))


class Nested(nn.Module):
    def forward(self, d):
        return d["a"] + 1 if d["a"].shape[0] > d["b"][1].shape[0] else d["a"] - 1


guarded("nested", Nested(), *[({"a": ramp(n, 3), "b": [ramp(2), ramp(m)]},) for n, m in ((7, 4), (4, 7), (5, 5))],
        dynamic=({"a": {0: auto}, "b": [None, {0: auto}]},))


# --- unread results, and type queries already answered by tracing
def case(name, module, *calls, dynamic=None, strict=False, tolerance=None, program=None):
    if wanted and name not in wanted:
        return
    if not isinstance(module, nn.Module):
        module = Function(module)
        dynamic = None if dynamic is None else (dynamic,)
    reference = copy.deepcopy(module)
    program = program or export(module, copy.deepcopy(calls[0]), dynamic_shapes=dynamic, strict=strict)
    tensors = {}
    for k, args in enumerate(calls):
        tensors |= record(reference, args, f"call{k}.")
    metadata = {} if tolerance is None else {"rtol": str(tolerance), "atol": str(tolerance)}
    save(name, program, tensors, **metadata)


def asks_types(x, y):
    torch.promote_types(x.dtype, y.dtype)
    torch.can_cast(x.dtype, torch.float64)
    torch.result_type(x, y)
    torch.is_same_size(x, y)
    x.is_floating_point(), y.is_complex()
    torch.kthvalue(x.flatten(), 1), torch.geqrf(x)
    return x + y


case("unused_types", asks_types, (ramp(4, 3), ramp(4, 3)))
case("unused_sizes", lambda x: torch.tensor([x.shape[0], x.shape[1]]), (ramp(7, 3),), (ramp(5, 4),), dynamic=({0: auto, 1: auto},))


# --- operators with effects, in the order of a token
def factors(x):
    torch.ops.aten._print("factors")
    y = x @ x.mT + torch.eye(3)
    return (torch.linalg.inv(x), torch.linalg.solve(x, y), torch.linalg.cholesky(y), torch.linalg.lu_solve(*torch.linalg.lu_factor(x), y),
            torch.linalg.matrix_power(x, -2), torch.cholesky_inverse(torch.linalg.cholesky(y)))


x3 = torch.tensor([[2, 1, 0.5], [0, -1, 3], [1, 0.5, 1]])
case("effects", factors, (x3,), program=export(Function(factors), (x3,)).run_decompositions())
batches = export(Function(factors), (x3.repeat(3, 1, 1),), dynamic_shapes=(({0: Dim("n")},),)).run_decompositions()
case("effects_dynamic", factors, (x3.repeat(3, 1, 1),), (x3.repeat(2, 1, 1) * 2,), program=batches)


# --- dual numbers: the file has only the primal computation
class Weighted(nn.Module):
    def __init__(self, function):
        super().__init__()
        torch.manual_seed(1)
        self.w = nn.Parameter(torch.randn(3, 3))
        self.net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
        self.conv = nn.Conv2d(1, 2, 3)
        self.function = function

    def forward(self, *args):
        return self.function(self, *args)


def derivative(name, function, *args, tolerance=None):
    if wanted and name not in wanted:
        return
    module = Weighted(function).eval()
    try:
        case(name, module, args, program=export(module, args), tolerance=tolerance)
    except Exception as e:
        print(name, "is beyond PyTorch's export:", str(e)[:60].replace("\n", " "))
        if os.path.exists(f"{out}/{name}.pt2") and not os.path.exists(f"{out}/{name}.safetensors"):
            os.remove(f"{out}/{name}.pt2")  # incomplete


jvp = torch.func.jvp
torch.manual_seed(0)
x, v, w = torch.randn(4, 3), torch.randn(4, 3), torch.randn(4, 3)
derivative("dual_product", lambda s, x, v: jvp(lambda y: torch.sin(y @ s.w), (x,), (v,)), x, v)
derivative("dual_network", lambda s, x, v: jvp(s.net, (x,), (v,)), x, v)
derivative("dual_two_inputs", lambda s, x, y, v, w: jvp(lambda a, b: a * torch.exp(b) / (1 + b * b), (x, y), (v, w)),
           x, v, w, x * 2)
derivative("dual_aux", lambda s, x, v: jvp(lambda y: (torch.softmax(y @ s.w, -1), y * 2), (x,), (v,), has_aux=True), x, v)
derivative("dual_nested", lambda s, x, v: jvp(lambda y: jvp(lambda z: torch.sin(z @ s.w), (y,), (v,))[1], (x,), (v,)), x, v)
derivative("dual_thrice", lambda s, x, v: jvp(
    lambda a: jvp(lambda y: jvp(lambda z: torch.tanh(z) * z, (y,), (v,))[1], (a,), (v,))[1], (x,), (v,)), x, v)
derivative("dual_norm", lambda s, x, v: jvp(lambda y: nn.functional.layer_norm(nn.functional.gelu(y), (3,)), (x,), (v,)), x, v)
derivative("dual_reductions", lambda s, x, v: jvp(
    lambda y: (y.logsumexp(1), y.amax(0), y.prod(1), y.std(1), y.cumsum(0), y.norm()), (x,), (v,)), x, v)
derivative("dual_views", lambda s, x, v: jvp(
    lambda y: torch.cat([y.t().reshape(2, 6), y[1:3].flip(0).flatten(0)[None].expand(2, 6)], 1), (x,), (v,)), x, v)
derivative("dual_linalg", lambda s, x, v: jvp(
    lambda y: (torch.linalg.solve(y.t() @ y + 3 * torch.eye(3), y.t()), torch.linalg.det(y[:3])), (x,), (v,)), x, v)
derivative("dual_detached", lambda s, x, v: jvp(lambda y: y * y.detach() + torch.relu(y), (x,), (v,)), x, v)
derivative("dual_attention", lambda s, q, v: jvp(
    lambda y: nn.functional.scaled_dot_product_attention(y, y * 2, y + 1, is_causal=True), (q,), (v,)),
    torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4))


def forward_ad(s, x, v):
    import torch.autograd.forward_ad as fw
    with fw.dual_level():
        return fw.unpack_dual(torch.cos(fw.make_dual(x, v) @ s.w)).tangent


derivative("dual_forward_ad", forward_ad, x, v)

# --- derivatives traced by make_fx, including prims
from torch.fx.experimental.proxy_tensor import make_fx

func = torch.func


def flattened(name, function, *args):
    if wanted and name not in wanted:
        return
    module = Weighted(function).eval()
    graph = make_fx(lambda *a: module(*a))(*args)
    case(name, module, args, program=export(Function(lambda *a: graph(*a)), args))


def scalar(s):
    return lambda y: (torch.sin(y @ s.w) ** 2).sum()


flattened("fx_hessian", lambda s, x: func.hessian(scalar(s))(x), x[0])
flattened("fx_jacrev", lambda s, x: func.jacrev(lambda y: torch.tanh(s.net(y)))(x), x[0])
flattened("fx_vmap_grad", lambda s, x: func.vmap(func.grad(scalar(s)))(x), x)
flattened("fx_vmap_jvp", lambda s, x, v: func.vmap(lambda a, b: jvp(lambda y: torch.sin(y @ s.w), (a,), (b,))[1])(x, v), x, v)
flattened("fx_hvp", lambda s, x, v: jvp(func.grad(scalar(s)), (x,), (v,)), x[0], v[0])
flattened("fx_grad_of_jvp", lambda s, x, v: func.grad(lambda y: jvp(lambda z: torch.sin(z @ s.w).sum(), (y,), (v,))[1])(x), x[0], v[0])
flattened("fx_nested", lambda s, x, v: jvp(lambda y: jvp(lambda z: torch.sin(z @ s.w), (y,), (v,))[1], (x,), (v,)), x, v)
flattened("fx_softmax", lambda s, x, v: jvp(lambda y: torch.softmax(y @ s.w, -1), (x,), (v,)), x, v)

# --- gradients whose operator names its forward operator
F = nn.functional


def weighed(y):
    return (y * torch.cos(torch.arange(y.numel(), dtype=y.dtype)).reshape(y.shape)).sum()


def gradients(*functions):
    """The gradients of each function's weighed result by all its floating arguments."""
    def call(s, *args):
        places = tuple(i for i, a in enumerate(args) if a.is_floating_point())
        return tuple(func.grad(lambda *a: weighed(f(*a)), argnums=places)(*args) for f in functions)
    return call


image, volume = torch.randn(2, 3, 6, 5), torch.randn(1, 2, 4, 5, 3)
flattened("fx_padding", gradients(
    lambda x: F.pad(x.flatten(2), (2, 1), mode="reflect"), lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect"),
    lambda x: F.pad(x.flatten(2), (2, 4), mode="replicate"), lambda x: F.pad(x, (1, -1, 3, 2), mode="replicate")), image)
flattened("fx_padding_3d", gradients(lambda x: F.pad(x, (1, 2, 0, 1, 2, 1), mode="reflect"),
                                     lambda x: F.pad(x, (1, 2, 0, 1, 2, 3), mode="replicate")), volume)
flattened("fx_grid_sample", gradients(*[
    lambda x, g, m=m, p=p, a=a: F.grid_sample(x, g, mode=m, padding_mode=p, align_corners=a)
    for m, p, a in (("bilinear", "zeros", False), ("bilinear", "border", True), ("bicubic", "reflection", False),
                    ("nearest", "zeros", True))]), image, torch.rand(2, 4, 3, 2) * 2.4 - 1.2)
flattened("fx_grid_sample_3d", gradients(lambda x, g: F.grid_sample(x, g, align_corners=False)), volume,
          torch.rand(1, 2, 3, 2, 3) * 2.4 - 1.2)
flattened("fx_distances", gradients(
    lambda x, y: torch.ops.aten._cdist_forward(x, y, 2.0, None), lambda x, y: torch.cdist(x, y, 1.0),
    lambda x, y: torch.cdist(x, y, 3.0), lambda x, y: torch.cdist(x, y, math.inf), lambda x, y: F.pdist(x) * F.pdist(y)),
    torch.randn(5, 4), torch.randn(5, 4))
flattened("fx_pools", gradients(
    lambda x: F.adaptive_max_pool2d(x, (4, 2)),
    lambda x: F.fractional_max_pool2d(x, 2, (4, 3), _random_samples=torch.full((2, 3, 2), 0.4))), image)
flattened("fx_pools_3d", gradients(
    lambda x: F.adaptive_max_pool3d(x, (2, 3, 2)),
    lambda x: F.fractional_max_pool3d(x, 2, (2, 3, 1), _random_samples=torch.full((1, 2, 3), 0.3))), volume)
flattened("fx_margins", gradients(
    lambda x, t, m: F.multi_margin_loss(x, t, p=2, margin=0.7, weight=x.detach()[0].abs()),
    lambda x, t, m: F.multi_margin_loss(x, t, reduction="none"),
    lambda x, t, m: F.multilabel_margin_loss(x, m), lambda x, t, m: F.multilabel_margin_loss(x, m, reduction="none")),
    torch.randn(3, 5), torch.tensor([1, 4, 0]), torch.tensor([[3, 0, -1, 1, 2], [4, -1, 0, 0, 0], [0, 1, 2, 3, 4]]))
flattened("fx_weight_norm", gradients(lambda v, g: torch._weight_norm(v, g, 0)), torch.randn(4, 3, 2), torch.rand(4, 1, 1) + 0.5)
flattened("fx_segments", gradients(*[
    lambda x, n, r=r: torch.segment_reduce(x, r, lengths=n) for r in ("sum", "mean", "max", "prod")]),
    torch.randn(7, 3), torch.tensor([2, 0, 4, 1]))
flattened("fx_selections", gradients(
    lambda x, y, m: x.masked_scatter(m, y), lambda x, y, m: x.diagonal(1, 0, 2) ** 2,
    lambda x, y, m: F.bilinear(x, y[..., :4], torch.cos(torch.arange(60.0)).reshape(3, 5, 4))),
    torch.randn(2, 3, 5), torch.randn(2, 3, 5), torch.rand(2, 3, 5) > 0.4)
flattened("fx_bags", gradients(*[
    lambda w, p, i, o, k=k: F.embedding_bag(i, w, o, **k) + 0 * p.sum() for k in (
        {"mode": "sum"}, {"mode": "mean", "padding_idx": 3}, {"mode": "max"}, {"mode": "max", "padding_idx": 3},
        {"mode": "sum", "scale_grad_by_freq": True}, {"mode": "mean", "include_last_offset": True})]),
    torch.randn(9, 4), torch.rand(12), torch.tensor([3, 1, 8, 3, 3, 0, 1, 1, 7, 5, 3, 1]), torch.tensor([0, 3, 3, 12]))
flattened("fx_bags_weighted", gradients(
    lambda w, p, i, o: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=p),
    lambda w, p, i, o: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=p, padding_idx=-1)),
    torch.randn(9, 4), torch.rand(12), torch.tensor([3, 1, 8, 3, 3, 0, 1, 1, 7, 5, 3, 1]), torch.tensor([0, 3, 3, 12]))
flattened("fx_bags_dense", lambda s, w, g, i, o: torch.ops.aten._embedding_bag_dense_backward(
    g, i, *torch.ops.aten._embedding_bag(w, i, o, False, 1)[1:], 9, False, 1, None),
    torch.randn(9, 4), torch.randn(3, 4), torch.tensor([3, 1, 8, 3, 3, 0]), torch.tensor([0, 3, 3]))
flattened("fx_gates", lambda s, x, v: jvp(lambda y: F.glu(y, 1), (x,), (v,)), torch.randn(3, 4), torch.randn(3, 4))
flattened("fx_gates_mixed", lambda s, x, v: jvp(func.grad(lambda y: weighed(F.glu(y, 0))), (x,), (v,)), torch.randn(4, 3), torch.randn(4, 3))
flattened("fx_tangent_alone", lambda s, x, v: jvp(lambda y: y[:, torch.tensor([0, 2])], (x,), (v,))[1], x, v)
flattened("fx_leaks", lambda s, g, x, n: (torch.ops.aten.rrelu_with_noise_backward(g, x, n, 0.1, 0.3, True, False),
                                          torch.ops.aten.rrelu_with_noise_backward(g, x, n, 0.1, 0.3, False, False)), x, v, w)

# --- torch._prims
prims = torch.ops.prims
positive, unit, whole = torch.rand(4, 3) + 0.1, torch.rand(4, 3) * 1.8 - 0.9, torch.randint(1, 40, (4, 3))
UNARY = {
    "": "abs atan bitwise_not ceil cos cosh digamma erf erfc erfcx exp exp2 expm1 floor isfinite neg reciprocal round "
        "sign sin sinh tan tanh trunc bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 cbrt "
        "spherical_bessel_j0 asinh clone view_of",
    "positive": "lgamma log log10 log1p log2 rsqrt sqrt",
    "unit": "acos asin atanh erf_inv",
}
BINARY = {
    "": "add atan2 eq fmax fmin fmod ge gt hypot le lt maximum minimum mul ne nextafter remainder sub div",
    "positive": "pow igamma igammac",
    "whole": "bitwise_and bitwise_or bitwise_xor gcd div remainder shift_right_arithmetic add",
}


def prim_results(x, p, u, n):
    results = []
    operands = {"": (x, x.flip(0)), "positive": (p, p.flip(0)), "unit": (u, u), "whole": (n, n.flip(0))}
    for kind, names in UNARY.items():
        results += [getattr(prims, f)(operands[kind][0]) for f in names.split() if f != "bitwise_not"]
    results.append(prims.bitwise_not(n))
    for kind, names in BINARY.items():
        results += [getattr(prims, f)(*operands[kind]) for f in names.split()]
    return tuple(results)


case("prims_pointwise", prim_results, (x, positive, unit, whole))
case("prims_others", lambda x, n, c: (
    prims.amax(x, [0]), prims.amin(x, [1]), prims.sum(x, [0, 1]), prims.prod(x, [0]), prims.var(x, [1], 1.0),
    prims.broadcast_in_dim(x, [4, 2, 3], [0, 2]), prims.cat([x, x], 1), prims.collapse(x, 0, 1),
    prims.convert_element_type(x, torch.float64), prims.rev(x, [1]), prims.reshape(x, [2, 6]),
    prims.split_dim(x, 0, 2), prims.squeeze(x[None], [0]), prims.transpose(x, [1, 0]), prims.where(x > 0, x, -x),
    prims.iota(5, start=2, step=3, dtype=torch.int64, device="cpu", requires_grad=False),
    prims.full([2, 3], 1.5, dtype=torch.float32, device="cpu", requires_grad=False),
    prims.full_like(x, 2.0, dtype=torch.float32, device="cpu", requires_grad=False), prims.fill(x, 3.0),
    prims.fma(x, x, x), prims.real(c), prims.imag(c), prims.conj(c) + 1, prims.scalar_tensor(2.5, dtype=torch.float32, device="cpu"),
    prims.as_strided_scatter(x, torch.ones(2), [2], [3], 1), prims.view_of_dtype(x, torch.int32), prims.zeta(x.abs() + 2, x.abs() + 1),
    prims.frexp(x)[0]), (x, whole, torch.complex(x, v)))

# --- torchaudio
import torchaudio
import torchaudio.functional as audio

wave = torch.randn(2, 700).clamp(-1, 1)
case("audio_lowpass", lambda x: audio.lowpass_biquad(x, 16000, 1000.0), (wave,), tolerance=1e-5)
case("audio_equalizer", lambda x: audio.equalizer_biquad(x, 16000, 2000.0, 6.0), (wave,), tolerance=1e-5)
case("audio_filters", lambda x, a, b: audio.lfilter(x, a, b, clamp=False),
     (wave.double(), torch.tensor([[1, -0.5, 0.2, 0.05], [2, 0.3, -0.1, 0.4]]).double(),
      torch.tensor([[0.3, 0.1, 0, 0.2], [1, -1, 0.5, 0]]).double()))
case("audio_overdrive", lambda x: audio.overdrive(x, 12.0, 30.0), (wave,), tolerance=1e-5)
# torchaudio has no shape functions for these operators: the export provides them.
torch.library.register_fake("torchaudio::forced_align")(
    lambda p, t, n, m, blank: (t.new_empty(p.shape[0], p.shape[1]), torch.empty_like(p)))
torch.library.register_fake("torchaudio::rnnt_loss_forward")(
    lambda x, t, n, m, blank, clamp, fused: (x.new_empty(x.shape[0]), torch.empty_like(x)))
scores = torch.randn(1, 30, 6).log_softmax(-1)
labels = torch.tensor([[1, 2, 2, 5, 3]])
case("audio_align", lambda p, t: torch.ops.torchaudio.forced_align(p, t, torch.tensor([30]), torch.tensor([5]), 0), (scores, labels))
case("audio_transducer", lambda x, t, n, m: torchaudio.functional.rnnt_loss(x, t, n, m, blank=0, reduction="none"),
     (torch.randn(3, 8, 5, 7), torch.randint(1, 7, (3, 4), dtype=torch.int32), torch.tensor([8, 6, 7], dtype=torch.int32),
      torch.tensor([4, 2, 3], dtype=torch.int32)))
