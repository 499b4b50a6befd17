"""16-bit tensors with numbers and with tensors of no dimensions of other types, on both sides: which of them PyTorch rounds first."""
import torch
import torch.nn.functional as F

aten = torch.ops.aten
BINARY = {name: getattr(torch, name) for name in (
    "add sub mul div rsub remainder fmod floor_divide pow eq ne lt le gt ge copysign xlogy ldexp").split()}
BINARY |= {
    "div_trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"), "div_floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "add_alpha": lambda a, b: torch.add(a, b, alpha=0.3), "sub_alpha": lambda a, b: torch.sub(a, b, alpha=0.3),
    "xlog1py": torch.special.xlog1py, "where": lambda a, b: torch.where(a > 0, a, b)}
TENSORS = {name: getattr(torch, name) for name in "maximum minimum fmax fmin hypot atan2 logaddexp logical_and logical_xor".split()}
# A tensor, and a number or a tensor of no dimensions.
WITH = {
    "clamp": lambda x, s: (x.clamp(-s, s), x.clamp(min=s), x.clamp(max=s)), "masked_fill": lambda x, s: x.masked_fill(x > 0, s),
    "lerp_weight": lambda x, s: torch.lerp(x, x.flip(0), s), "pow_in_place": lambda x, s: x.abs().pow_(s),
    "in_place": lambda x, s: (x.clone().add_(s), x.clone().mul_(s), x.clone().div_(s), x.clone().remainder_(s)),
    "foreach": lambda x, s: torch._foreach_add([x], s) + torch._foreach_mul([x], s) + torch._foreach_div([x], s)}
# A tensor and a numeric setting.
SETTINGS = {
    "threshold": lambda x, s: F.threshold(x, s, 0.7 * s), "hardshrink": F.hardshrink, "softshrink": F.softshrink,
    "hardtanh": lambda x, s: F.hardtanh(x, -s, s), "leaky_relu": F.leaky_relu, "elu": F.elu, "celu": F.celu,
    "elu_all": lambda x, s: aten.elu(x, s, 1.1, 0.7), "softplus": lambda x, s: F.softplus(x, s, 2.3),
    "addcmul": lambda x, s: torch.addcmul(x, x.flip(0), x * 2, value=s),
    "addcdiv": lambda x, s: torch.addcdiv(x, x.flip(0), x.abs() + 1, value=s), "isin": lambda x, s: torch.isin(x, torch.tensor(s).to(x.dtype)),
    "foreach_setting": lambda x, s: (torch._foreach_sub([x], s) + torch._foreach_pow([x.abs()], s) +
                                     torch._foreach_addcmul([x], [x.flip(0)], [x * 2], s) + torch._foreach_lerp([x], [x.flip(0)], s)),
    "threshold_backward": lambda x, s: aten.threshold_backward(x.flip(0), x, s),
    "hardshrink_backward": lambda x, s: aten.hardshrink_backward(x.flip(0), x, s),
    "softshrink_backward": lambda x, s: aten.softshrink_backward(x.flip(0), x, s),
    "leaky_relu_backward": lambda x, s: aten.leaky_relu_backward(x.flip(0), x, s, False),
    "hardtanh_backward": lambda x, s: aten.hardtanh_backward(x.flip(0), x, -s, s)}
NO_NUMBER_ON_THE_LEFT = set("rsub fmod eq ne lt le gt ge copysign ldexp where".split())
NUMBERS = (0.3, 2.7)


def make(case):
    # Reproducible runs round these otherwise, within the tolerance.
    a, b, c = torch.randn(3, 500)
    case("operand_addcdiv_f32", lambda a, b, c: (torch.addcdiv(a, b, c.abs() + 1, value=0.3), a + 0.3 * b / (c.abs() + 1)), (a, b, c))
    # PyTorch's kernels round the sum with a factor once.
    case("operand_alpha_f32", lambda a, b: [f(v, w, alpha=s) for v, w in ((a, b), (a.double(), b.double()), (a, 0.7)) for f in (torch.add, torch.sub, torch.rsub)
                                            for s in (*NUMBERS, -1, 1)] + [a.clone().mul_(1.6).add_(b, alpha=-0.6)], (a, b), exact=True)
    special = [v for s in NUMBERS for v in (s, -s, 2 * s, 3 * s)] + [0.0, -0.0, 1.0, -1.0]
    # Whole vectors: PyTorch rounds differently in the remainder of a row.
    x = torch.cat([torch.randn(52) * 2, torch.tensor(special)])
    both = x.half(), x.bfloat16()
    others = [torch.tensor(s, dtype=t) for s in NUMBERS for t in (torch.float32, torch.float64)] + [torch.tensor(2049), torch.tensor(3)]
    for name, f in (BINARY | WITH | SETTINGS).items():
        if name != "ldexp":
            case(f"operand_{name}_number", lambda *xs: [f(x, s) for x in xs for s in NUMBERS], both, exact=name != "addcdiv")
    for name, f in BINARY.items():
        if name not in NO_NUMBER_ON_THE_LEFT:
            case(f"operand_{name}_number_left", lambda *xs: [f(s, x) for x in xs for s in NUMBERS], both, exact=True)
    for name, f in (BINARY | TENSORS | WITH).items():
        case(f"operand_{name}_tensor", lambda x, y, *o: [f(v, z) for v in (x, y) for z in o], (*both, *others), exact=True)
    for name, f in (BINARY | TENSORS).items():
        if name != "where":
            case(f"operand_{name}_tensor_left", lambda x, y, *o: [f(z, v) for v in (x, y) for z in o], (*both, *others), exact=True)
    wide = torch.tensor([1, 257, 2049, -4099] * 4)
    case("operand_integers", lambda x, y, i: [f(v, i) for v in (x, y) for f in (torch.add, torch.mul, torch.lt, torch.maximum)],
         (both[0][:16], both[1][:16], wide), exact=True)
    m, a, b = torch.randn(8, 16) * 3, torch.randn(8), torch.randn(16)
    for name, convert in (("f16", torch.Tensor.half), ("bf16", torch.Tensor.bfloat16)):
        case(f"operand_addr_{name}", lambda m, a, b: [torch.addr(m, a, b, alpha=s, beta=0.7) for s in NUMBERS], tuple(map(convert, (m, a, b))),
             exact=True)
        case(f"operand_losses_{name}", lambda x, y: [l(x, y, reduction="none", **{n: s}) for s in NUMBERS for l, n in (
            (F.huber_loss, "delta"), (F.smooth_l1_loss, "beta"))], (convert(m), convert(m.flip(0))), exact=True)
