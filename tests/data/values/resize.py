"""Interpolation whose factors keep or double a size, and that of images by PyTorch's other kernels: channels last, large, small, bytes."""
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.functional import interpolate

aten = torch.ops.aten
KINDS = {"u8": torch.uint8, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
# Sizes, and factors: equal, doubled or other.
IMAGES = {1: ([9], ([1.1], [2.2], [2.0], [0.6])),
          2: ([7, 5], ([1.1, 1.15], [2.1, 2.3], [1.05, 2.0], [1.0, 1.7], [0.7, 1.12])),
          3: ([3, 5, 4], ([1.1, 1.15, 1.2], [2.1, 2.3, 2.2], [1.1, 2.0, 0.6]))}
MODES = {1: ("nearest", "nearest-exact", "linear"), 2: ("nearest", "nearest-exact", "bilinear", "bicubic"),
         3: ("nearest", "nearest-exact", "trilinear")}


def image(kind, sizes, channels, last=False):
    x = torch.rand([2, channels] + list(sizes)) * 255
    x = (x if kind == "u8" else x / 100 - 1).to(KINDS[kind])
    return x.contiguous(memory_format=LAST[x.dim()]) if last and x.dim() > 3 else x


def gradients(functions, x, gs):
    """The graph of the functions' gradients for x, and its arguments."""
    def all_of_them(x, *gs):
        x = x.detach().requires_grad_()
        return [torch.autograd.grad(f(x), x, g)[0] for f, g in zip(functions, gs)]
    return make_fx(all_of_them)(x, *gs), (x, *gs)


def make(case):
    for axes, (sizes, factors) in IMAGES.items():
        for mode in MODES[axes]:
            for antialias in (False, True) if mode in ("bilinear", "bicubic") else (False,):
                for kind in KINDS:
                    if kind == "u8" and axes != 2 and not mode.startswith("nearest") or antialias and kind in ("f16", "bf16"):
                        continue
                    for last in (False, True) if axes > 1 and kind in ("f32", "u8") else (False,):
                        channels = 5 if last else 2
                        functions = [lambda x, f=f: interpolate(x, scale_factor=f, mode=mode, antialias=antialias) for f in factors]
                        functions += [lambda x: interpolate(x, scale_factor=factors[0], mode=mode, antialias=antialias,
                                                            recompute_scale_factor=True)]
                        name = f"resize_{mode.replace('-', '_')}{axes}d{'_antialias' * antialias}_{kind}{'_last' * last}"
                        x = image(kind, sizes, channels, last)
                        case(name, lambda x: [f(x) for f in functions], (x,), exact=mode.startswith("nearest"))
                        if kind not in ("f32", "f64") or last:
                            continue
                        gs = [torch.randn(f(x).shape, dtype=x.dtype) for f in functions]
                        case(f"{name}_gradient", *gradients(functions, x, gs))
    # PyTorch's kernels for large images compute different nearest positions than the kernels for small images.
    for mode in ("nearest", "nearest-exact"):
        for last, channels in ((False, 1), (False, 5), (True, 2), (True, 5)):
            name = f"resize_{mode.replace('-', '_')}_large_{channels}{'_last' * last}"
            for kind in ("f32", "f64"):
                x = image(kind, [70, 66], channels, last)[:1, :, :, :].contiguous(memory_format=LAST[4] if last else torch.contiguous_format)
                case(f"{name}_{kind}", lambda x: [interpolate(x, scale_factor=f, mode=mode)[:, :, ::3, ::3] for f in ([1.01, 2.01], [1.9, 1.0])],
                     (x,), exact=True)
    # Sizes together with factors.
    for name, operator in (("nearest2d", aten.upsample_nearest2d), ("nearest_exact2d", aten._upsample_nearest_exact2d)):
        case(f"resize_{name}_both", lambda x: [operator.default(x, size, 1.3, 2.2) for size in ([7, 10], [14, 5], [9, 11])],
             (image("f32", [7, 5], 2),), exact=True)
    for name, operator in (("bilinear2d", aten.upsample_bilinear2d), ("bicubic2d", aten.upsample_bicubic2d),
                           ("bilinear2d_antialias", aten._upsample_bilinear2d_aa), ("bicubic2d_antialias", aten._upsample_bicubic2d_aa),
                           ("lanczos2d_antialias", aten._upsample_lanczos2d_aa)):
        for corners in (False, True):
            case(f"resize_{name}_both{'_corners' * corners}",
                 lambda x: [operator.default(x, size, corners, 1.05, 2.1) for size in ([7, 10], [7, 11], [8, 5])], (image("f32", [7, 5], 2),))
    # Infinities meet weights of zero.
    x = image("f32", [5, 6], 2)
    x[0, 0, 1, 2], x[0, 1, 0, 0], x[1, 0, 4, 5], x[1, 1, 2, 2] = float("inf"), -float("inf"), float("nan"), -0.0
    for mode in MODES[2]:
        for antialias in (False, True) if mode in ("bilinear", "bicubic") else (False,):
            functions = [lambda x, s=s: interpolate(x, size=s, mode=mode, antialias=antialias) for s in ([5, 6], [5, 9], [3, 4], [10, 6])]
            name = f"resize_infinite_{mode.replace('-', '_')}{'_antialias' * antialias}"
            case(name, lambda x: [f(x) for f in functions], (x,))
            gs = [torch.randn(f(x).shape) for f in functions]
            for g in gs:
                g[0, 0, 1, 2], g[1, 1, 0, 0], g[0, 1, 2, 3] = float("inf"), float("nan"), -0.0
            case(f"{name}_gradient", *gradients(functions, x, gs))
