"""Makes cases of gradients that PyTorch's operator samples do not have: control flow, detached values, symbolic sizes, models.

  make.py OUT

Needs torch 2.12 and safetensors. Writes OUT/NAME.pt2 and .safetensors; gradK is the gradient for input K of the sum over the results of
sum(out * cos(0, 1, 2, ...)). Parameters are inputs here. The other cases of tests/data/gradients.tar.zst are one or two for each of
PyTorch's operator samples.
"""
import os
import sys
import warnings

import torch
from safetensors.torch import save_file
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch.export import Dim

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from recorded import save_program, torch_version

warnings.filterwarnings("ignore")
OUT = sys.argv[1]


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        result = self.function(*inputs)
        return result if isinstance(result, tuple) else (result,)


def save(name, function, inputs, dynamic=None, tolerance=None):
    module = function if isinstance(function, torch.nn.Module) else Call(function)
    leaves = [t.clone().requires_grad_(t.is_floating_point()) for t in inputs]
    outputs = module(*leaves)
    floating = [o for o in outputs if o.is_floating_point() and o.requires_grad]
    loss = sum((o * torch.cos(torch.arange(o.numel(), dtype=o.dtype)).reshape(o.shape)).sum() for o in floating)
    wanted = [i for i, t in enumerate(leaves) if t.requires_grad]
    found = torch.autograd.grad(loss, [leaves[i] for i in wanted], allow_unused=True)
    program = torch.export.export(module, tuple(t.clone() for t in inputs), dynamic_shapes=dynamic, strict=False)
    case = {f"in{i}": t.contiguous() for i, t in enumerate(inputs)}
    case.update({f"out{i}": o.detach().contiguous() for i, o in enumerate(outputs)})
    case.update({f"grad{i}": g.contiguous() for i, g in zip(wanted, found) if g is not None})
    meta = {"op": "programs", "dtype": str(inputs[0].dtype).removeprefix("torch."), "torch": torch_version()}
    if tolerance:
        meta.update(rtol=tolerance, atol=tolerance)
    save_program(program, f"{OUT}/{name}.pt2")
    save_file(case, f"{OUT}/{name}.safetensors", metadata=meta)
    print(name)


def of_parameters(model):
    """A function of the inputs and then of the model's parameters."""
    names = [n for n, _ in model.named_parameters()]

    def call(x, *parameters):
        return torch.func.functional_call(model, dict(zip(names, parameters)), (x,))

    return call, [p.detach().clone() for p in model.parameters()]


def branches(x, y):
    return torch.cond(x.sum() > 0, lambda a, b: a.sin() * b, lambda a, b: (a * b).exp(), (x, y))


def recurrence(h, xs, w):
    def step(carry, x):
        new = torch.tanh(carry @ w + x)
        return new, new * new

    return scan(step, h, xs)


def mapped(xs, y):
    return torch_map(lambda x, other: (x * other).sin().sum(), xs, y)


def detached(x):
    return x * x.detach() + torch.relu(x).detach()


def without_gradient(x, w):
    with torch.no_grad():
        scale = (x * w).abs().amax() + 1
    return x * w / scale


def straight_through(x):
    return x + (torch.round(x) - x).detach()


def written(x):
    y = x * 2
    y[:, 1:3] = x[:, :2].sin()
    y[0] += 1
    return y.cumsum(0)


F = torch.nn.functional


def losses_at_bounds(x, p, one):
    """x is 0, p is 0 and 1 with targets 1 and 0."""
    zeros, ones = torch.zeros_like(one), torch.ones_like(one)
    return (
        F.binary_cross_entropy_with_logits(x, 0.3 * ones, reduction="none"),
        F.binary_cross_entropy(p, torch.stack([ones, zeros]), 2 * ones, reduction="none"),
        F.margin_ranking_loss(one, one.flip(0), ones, reduction="none"),
        F.hinge_embedding_loss(one, -ones, margin=1.0, reduction="none"),
        F.relu(x),
        F.hardtanh(one),
    )


def bounds_of_lists(x):
    """Some of x are 1."""
    a = torch._foreach_clamp_max([x], 1.0)[0]
    b = torch._foreach_maximum([x], 1.0)[0]
    c = torch._foreach_minimum([x], [torch.ones_like(x)])[0]
    return a, b, c, torch._foreach_norm([x * 0])[0]


def clamped_nan(x):
    return torch.where(x.isnan(), 1, 2) * x.nan_to_num(), x.clamp(0, 1), x.clamp_min(0), torch.clamp(x, x.detach() * 0, None), x.relu()


def logarithms_of_numbers(x, y):
    """Some of x are 0."""
    xlogy, xlog1py = torch.special.xlogy, torch.special.xlog1py
    return xlogy(x, 2.0), xlog1py(x, 2.0), xlogy(3.0, y), xlog1py(0.0, y), xlogy(x, y)


def fake_quantized(x, rows):
    scale, zero = torch.tensor([0.1, 0.05, 0.2]), torch.tensor([0, 3, -3], dtype=torch.int32)
    quantize = torch.fake_quantize_per_tensor_affine
    on = torch.ones(1, dtype=torch.int64)
    observed = torch.fused_moving_avg_obs_fake_quant(
        x, on, on, torch.full((1,), -6.0), torch.full((1,), 6.0), torch.ones(1), torch.zeros(1, dtype=torch.int32), 0.01, 0, 127, -1)
    return (
        quantize(x, 0.1, 0, -128, 127),
        quantize(x, scale[:1], zero[:1], 0, 127),
        torch.fake_quantize_per_channel_affine(rows, scale, zero, 0, -128, 127),
        observed,
    )


def written_without_gradient(x):
    scaled, part, changed, made = x * 1, x * 2, x.sin(), x * 5
    with torch.no_grad():
        scaled.mul_(3)
        part[:, 1:].fill_(7)
        changed.copy_(x * 2)
        made = made + 1
        made.mul_(2)
        part.view(-1).add_(1)
    return scaled, part * part, changed.exp(), made * x


def detached_in_place(x):
    y = x * 2
    y.detach_()
    z = (x * 3).exp_()
    w = z.mul_(2)
    w.detach_()
    return y * x, z * x + w.sin()


class Cnn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.depthwise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.head = torch.nn.Linear(8, 5)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(self.norm(self.conv(x)).relu(), 2)
        return self.head(torch.nn.functional.gelu(self.depthwise(x)).mean((2, 3)))


class Recurrent(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = kind(4, 6, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.rnn(x)[0]


def main():
    os.makedirs(OUT, exist_ok=True)
    torch.manual_seed(0)
    f64 = torch.float64

    def noise(*sizes):
        return torch.randn(*sizes, dtype=f64)

    positive = noise(3).abs()
    save("cond_true", branches, [positive, noise(3)])
    save("cond_false", branches, [-positive, noise(3)])
    save("scan", recurrence, [noise(1, 3), noise(5, 1, 3), noise(3, 3)])
    save("map", mapped, [noise(4, 3), noise(3)])
    save("detach", detached, [noise(3, 4)])
    save("no_grad", without_gradient, [noise(3, 4), noise(4)])
    save("straight_through", straight_through, [noise(3, 4)])
    save("written", written, [noise(3, 4)])
    embedding = torch.nn.functional.embedding
    save("embedding_max_norm", lambda i, w: embedding(i, w.clone(), max_norm=1.0), [torch.tensor([0, 2, 2]), noise(4, 3)])

    batch = Dim("batch", min=2, max=64)
    mlp = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.SiLU(), torch.nn.Linear(8, 3)).double()
    call, parameters = of_parameters(mlp)
    rest = tuple(None for _ in parameters)
    save("dynamic_mlp", lambda x, *p: torch.log_softmax(call(x, *p), -1).mean(0), [noise(6, 4), *parameters], (( {0: batch}, *rest ),))
    save("dynamic_views", lambda x, y: (x[:, 1:].reshape(x.shape[0] * 3) * y).var() + torch.cat([x, x.flip(0)]).prod(1).std() + x.amax(0).sum(),
         [noise(5, 4), noise(1)], (({0: batch}, None),))

    cnn = Cnn().double()
    call, parameters = of_parameters(cnn)
    save("cnn", call, [noise(2, 3, 12, 12), *parameters])
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double()
    call, parameters = of_parameters(layer)
    save("encoder_layer", call, [noise(2, 5, 8), *parameters])
    for kind in (torch.nn.LSTM, torch.nn.GRU):
        call, parameters = of_parameters(Recurrent(kind).double())
        save(kind.__name__.lower(), call, [noise(2, 5, 4), *parameters])
    heads = torch.nn.functional.scaled_dot_product_attention
    save("attention", lambda q, k, v: heads(q, k, v, is_causal=True), [noise(2, 2, 5, 4), noise(2, 2, 5, 4), noise(2, 2, 5, 3)])
    targets = torch.tensor([0, 2, 1, 2])
    save("cross_entropy", lambda t, x: torch.nn.functional.cross_entropy(x, t, label_smoothing=0.1), [targets, noise(4, 3)])

    save("losses_at_bounds", losses_at_bounds, [torch.zeros(3, dtype=f64), torch.tensor([[0.0, 0.5, 0.0], [1.0, 0.5, 1.0]], dtype=f64), torch.ones(3, dtype=f64)])
    save("bounds_of_lists", bounds_of_lists, [torch.tensor([1.0, 0.5, 2.0], dtype=f64)])
    save("clamped_nan", clamped_nan, [torch.tensor([float("nan"), 0.0, 1.0, 0.5, 2.0], dtype=f64)])
    save("logarithms_of_numbers", logarithms_of_numbers, [torch.tensor([0.0, 0.5, 2.0], dtype=f64), noise(3).abs() + 0.1])
    save("fake_quantize", fake_quantized, [torch.tensor([0.33, 100.0, -100.0, -0.5]), torch.randn(3, 4) * 8])
    save("written_without_gradient", written_without_gradient, [noise(2, 3)])
    save("detached_in_place", detached_in_place, [noise(3)])


if __name__ == "__main__":
    main()
