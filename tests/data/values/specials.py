"""NaN, infinities, zeros of both signs, the largest and the smallest numbers, subnormal ones too, through pointwise operators,
reductions, pooling, normalizations and grid_sample. Results, and the signs of those that are numbers.

Left out is what PyTorch's kernels do not agree on, or get wrong: the sign of NaN, and that of the larger of two zeros (the rest of a row
that fills no vector has another one), gelu, i0 and i1 of infinity (NaN), fmod and remainder whose quotient is large (NaN), norms and deviations
of numbers whose squares overflow, cumsum, norms and extremes of -0, which of equal elements an index names."""
import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_leaves

INF, NAN = float("inf"), float("nan")
KINDS = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}
UNARY = {name: getattr(torch, name) for name in (
    "abs neg sqrt rsqrt reciprocal square exp exp2 expm1 log log2 log10 log1p sigmoid sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh sinc erf erfc erfinv lgamma ceil floor round trunc frac sign sgn relu nan_to_num angle").split()}
UNARY |= {name: getattr(F, name) for name in (
    "relu6 hardtanh hardswish hardsigmoid hardshrink softshrink softplus elu celu selu silu mish leaky_relu logsigmoid softsign").split()}
UNARY |= {"clamp": lambda x: x.clamp(-1, 1), "clamp_min": lambda x: x.clamp(min=0), "threshold": lambda x: F.threshold(x, 0.5, 7.0),
          "powers": lambda x: [torch.pow(x, p) for p in (0, 0.5, 1, 2, 3, -1, -2, -0.5, 2.5)],
          "exponents": lambda x: [torch.pow(p, x) for p in (0.0, 1.0, 2.0, INF)],
          "conversions": lambda x: (x.half(), x.bfloat16(), x.float(), x.double(), x.bool())}
BINARY = {name: getattr(torch, name) for name in (
    "add sub mul div floor_divide pow hypot atan2 copysign xlogy logaddexp eq ne lt le gt ge "
    "logical_and logical_xor").split()}
BINARY |= {"lerp": lambda a, b: (torch.lerp(a, b, 0.3), torch.lerp(a, b, 0.7)), "where": lambda a, b: torch.where(a > b, a, b),
           "extremes": lambda a, b: [torch.where(x == 0, x.abs(), x) for x in (
               torch.maximum(a, b), torch.minimum(a, b), torch.fmax(a, b), torch.fmin(a, b), torch.clamp(a, min=b))]}


def over_axes(function):
    return lambda x: [function(x, dim=axis) for axis in (-1, 0)]


REDUCTIONS = {name: over_axes(getattr(torch, name)) for name in (
    "sum mean prod cumprod cummax cummin logsumexp softmax log_softmax var std nansum nanmean any all count_nonzero").split()}
REDUCTIONS |= {
    "extremes": over_axes(lambda x, dim: (x[:25].amax(dim), x[:25].amin(dim))),
    "median": over_axes(lambda x, dim: (torch.median(x[:25], dim)[0] + 0, torch.nanmedian(x[:25], dim)[0] + 0)),
    "cumsum": over_axes(lambda x, dim: torch.cumsum(x[:25], dim)), "arguments": over_axes(lambda x, dim: (x[:22].argmax(dim), x[:22].argmin(dim))),
    "sort": lambda x: [torch.sort(x, dim=axis, descending=d, stable=True) for axis in (-1, 0) for d in (False, True)],
    "topk": over_axes(lambda x, dim: torch.topk(x, 3, dim=dim)[0]),
    "norms": lambda x: [torch.linalg.vector_norm(x, p, dim=axis) for axis in (-1, 0) for p in (0, 1, 2, 3, INF, -INF)],
    "all_axes": lambda x: (x.sum(), x.max(), x.min(), x.mean(), ),
    "normalize": over_axes(F.normalize), "layer_norm": lambda x: F.layer_norm(x[:25], x.shape[-1:]),
    "group_norm": lambda x: F.group_norm(x[:25, :8], 2), "instance_norm": lambda x: F.instance_norm(x[None, :25]),
    "scatter": lambda x: [x.scatter_reduce(1, torch.zeros_like(x, dtype=torch.int64), x, r) for r in ("amax", "amin", "sum")]}
POOLS = {
    "max_pool1d": lambda x: F.max_pool1d(x[:, 0], 2), "max_pool2d": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    "max_pool2d_dilated": lambda x: F.max_pool2d(x, 2, 1, dilation=2), "avg_pool2d": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 3), "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 3, return_indices=True),
    "global": lambda x: (x.mean((2, 3)), x.amax((2, 3)) + 0)}


def with_signs(function, operands=1):
    """Of each type: its operands follow those of the type before."""
    def all_types(*args):
        results = []
        for i in range(0, len(args), operands):
            of_type = [x for x in tree_leaves(function(*args[i:i + operands])) if isinstance(x, torch.Tensor)]
            results += of_type + [torch.signbit(x) & ~torch.isnan(x) for x in of_type if x.is_floating_point()]
        return results
    return all_types


def make(case):
    unary, binary, rows, images, grids = [], [], [], [], []
    for kind, dtype in KINDS.items():
        info = torch.finfo(dtype)
        values = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, -2.5, info.max, -info.max, info.tiny, -info.tiny,
                               info.tiny / 4, -info.tiny / 4, info.eps, 100.0, -100.0], dtype=torch.float64).to(dtype)
        unary.append(values)
        binary += [x.reshape(-1).clone() for x in torch.meshgrid(values, values, indexing="ij")]
        generator = torch.Generator().manual_seed(3)
        x = torch.randn(26, 21, generator=generator).to(dtype)
        for i, v in enumerate(values[values.abs() != info.max]):
            x[i, i * 7 % 21] = v
        x[20, 3], x[20, 11], x[21, 2], x[21, 9] = INF, -INF, NAN, INF
        x[22], x[23], x[24], x[25] = -INF, INF, NAN, -0.0
        rows.append(x)
        image = torch.randn(3, 4, 5, 6, generator=generator).to(dtype)
        for i, v in enumerate((NAN, INF, -INF, 0.0, -0.0, INF)):
            image.view(-1)[i * 61] = v
        image[2, 3], image[2, 2], image[2, 1] = -INF, NAN, -0.0
        images.append(image)
        if info.bits == 16:
            continue  # PyTorch's positions here are infinities converted to 16-bit integers by the processor
        grid = (torch.rand(3, 7, 5, 2, generator=generator) * 3 - 1.5).to(dtype)
        for i, v in enumerate((NAN, INF, -INF, 1e30, -1e30, 1.0, -1.0, NAN, 0.0)):
            grid.view(-1)[i * 23] = v
        grids += [torch.randn(3, 4, 5, 6, generator=generator).to(dtype), grid]
    for name, f in UNARY.items():
        case(f"special_{name}", with_signs(f), tuple(unary))
    for name, f in BINARY.items():
        case(f"special_{name}", with_signs(f, 2), tuple(binary))
    for name, f in REDUCTIONS.items():
        case(f"special_reduce_{name}", with_signs(f), tuple(rows))
    for name, f in POOLS.items():
        case(f"special_{name}", with_signs(f), tuple(images))
    for mode in ("bilinear", "nearest", "bicubic"):
        case(f"special_grid_sample_{mode}", with_signs(lambda x, g: [F.grid_sample(x, g, mode, p, align_corners=c) for p in
                                                                     ("zeros", "border", "reflection") for c in (True, False)], 2), tuple(grids))
