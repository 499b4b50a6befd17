"""Programs of one operator in many shapes. OPERATORS maps a name to (function, inputs, modules); all three are made late."""
import functools

import torch
import torch.nn.functional as F
from torch import nn


class Program(nn.Module):
    """Has the name of its function, so that a file can hold it: functions without names cannot be pickled."""

    def __init__(self, name, modules):
        super().__init__()
        self.name, self.parts = name, nn.ModuleList(modules)

    def forward(self, *inputs):
        function, _, _ = OPERATORS[self.name]
        return function(*self.parts, *inputs)


def normal(*sizes):
    return functools.partial(torch.randn, *sizes)


def indices(most, *sizes):
    return functools.partial(torch.randint, 0, most, sizes)


def text(*sizes):
    return "x".join(map(str, sizes))


OPERATORS = {}


def add(name, function, inputs, *modules):
    OPERATORS[name] = (function, inputs, modules)


def call(module, *inputs):
    return module(*inputs)


def products():
    for m, k, n in [(1, 512, 512), (2, 768, 3072), (4, 1024, 1024), (7, 384, 384), (16, 768, 768), (49, 768, 3072),
                    (49, 96, 384), (100, 256, 512), (196, 192, 768), (197, 384, 1536), (577, 64, 256), (1500, 384, 384),
                    (3136, 96, 288), (4096, 32, 32), (64, 4096, 64), (33, 65, 129), (300, 1000, 10), (8, 2048, 1000)]:
        add(f"linear_{text(m, k, n)}", call, [normal(m, k)], lambda k=k, n=n: nn.Linear(k, n))
        if m > 30:
            add(f"product_{text(m, k, n)}", lambda x, y: x @ y.t(), [normal(m, k), normal(n, k)])
    for b, m, k, n in [(64, 49, 32, 49), (8, 128, 64, 128), (96, 17, 24, 17), (512, 4, 8, 4), (3, 500, 20, 300)]:
        add(f"batches_{text(b, m, k, n)}", torch.matmul, [normal(b, m, k), normal(b, k, n)])


def convolutions():
    for n, c, h, o, k, s, d, g in [
            (1, 64, 56, 64, 3, 1, 1, 1), (1, 3, 224, 32, 3, 2, 1, 1), (1, 3, 224, 64, 7, 2, 1, 1), (1, 960, 20, 256, 3, 1, 12, 1),
            (1, 256, 14, 256, 3, 2, 1, 1), (1, 96, 56, 96, 7, 1, 1, 96), (1, 384, 14, 384, 7, 1, 1, 384),
            (1, 48, 64, 48, 5, 2, 1, 48), (1, 128, 28, 128, 3, 1, 1, 32), (1, 64, 33, 33, 3, 1, 1, 1), (8, 32, 17, 48, 3, 1, 1, 1),
            (2, 16, 64, 16, 3, 1, 1, 4), (1, 512, 7, 512, 3, 1, 1, 1), (1, 24, 112, 144, 1, 1, 1, 1), (1, 1, 128, 1, 9, 1, 1, 1)]:
        add(f"conv2d_{text(n, c, h)}to{o}_k{k}s{s}d{d}g{g}", call, [normal(n, c, h, h)],
            lambda c=c, o=o, k=k, s=s, d=d, g=g: nn.Conv2d(c, o, k, s, d * (k // 2), d, g))
    for c, length, o, k, s, d, g in [(1, 32000, 512, 10, 5, 1, 1), (80, 3000, 384, 3, 1, 1, 1), (64, 1000, 64, 3, 1, 8, 1),
                                     (128, 500, 128, 7, 1, 1, 128), (768, 99, 768, 128, 1, 1, 16)]:
        add(f"conv1d_{text(c, length)}to{o}_k{k}s{s}d{d}g{g}", call, [normal(1, c, length)],
            lambda c=c, o=o, k=k, s=s, d=d, g=g: nn.Conv1d(c, o, k, s, d * (k // 2), d, g))
    for c, t, h, o, k, s in [(64, 8, 28, 64, 3, 1), (32, 16, 32, 32, 3, 1), (128, 4, 14, 256, 3, 2)]:
        add(f"conv3d_{text(c, t, h)}to{o}_k{k}s{s}", call, [normal(1, c, t, h, h)],
            lambda c=c, o=o, k=k, s=s: nn.Conv3d(c, o, k, s, k // 2))
    for c, h, o, k, s in [(64, 28, 32, 4, 2), (256, 14, 128, 2, 2), (16, 64, 8, 3, 2), (32, 32, 32, 3, 1)]:
        add(f"transposed2d_{text(c, h)}to{o}_k{k}s{s}", call, [normal(1, c, h, h)],
            lambda c=c, o=o, k=k, s=s: nn.ConvTranspose2d(c, o, k, s))


def recurrent():
    for name, layer in (("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)):
        for b, t, i, h, n, both in [(1, 50, 128, 128, 1, 0), (1, 100, 256, 512, 2, 0), (16, 60, 64, 256, 1, 1)]:
            add(f"{name}_{text(b, t, i)}to{h}_layers{n}{'_both' * both}", lambda m, x: m(x)[0], [normal(b, t, i)],
                lambda layer=layer, i=i, h=h, n=n, both=both: layer(i, h, n, batch_first=True, bidirectional=bool(both)))


def attention():
    for b, h, q, k, d, causal in [(1, 6, 1500, 1500, 64, 0), (1, 12, 128, 128, 64, 1), (1, 8, 1, 1024, 64, 0), (64, 3, 49, 49, 32, 0),
                                  (2, 4, 333, 77, 40, 0), (1, 16, 512, 512, 128, 1), (8, 4, 32, 32, 64, 0), (16, 12, 17, 17, 24, 0)]:
        add(f"attention_{text(b, h, q, k, d)}{'_causal' * causal}",
            functools.partial(F.scaled_dot_product_attention, is_causal=bool(causal)),
            [normal(b, h, q, d), normal(b, h, k, d), normal(b, h, k, d)])


def rows():
    for sizes in [(1, 197, 384), (8, 12, 128, 128), (4, 1000), (100, 7), (1, 50257), (4096, 8), (64, 4, 49, 49), (1, 12, 77, 77)]:
        add(f"softmax_{text(*sizes)}", functools.partial(torch.softmax, dim=-1), [normal(*sizes)])
        add(f"logsumexp_{text(*sizes)}", functools.partial(torch.logsumexp, dim=-1), [normal(*sizes)])
    add("softmax_channels_64x56x56", functools.partial(torch.softmax, dim=1), [normal(1, 64, 56, 56)])
    for sizes in [(1, 197, 384), (3136, 96), (8, 128, 768), (1000, 17), (1, 32, 64), (49, 32)]:
        add(f"layer_norm_{text(*sizes)}", call, [normal(*sizes)], lambda n=sizes[-1]: nn.LayerNorm(n))
        add(f"rms_norm_{text(*sizes)}", call, [normal(*sizes)], lambda n=sizes[-1]: nn.RMSNorm(n))
    for sizes in [(1, 64, 56, 56), (2, 32, 17, 19), (1, 256, 8, 8)]:
        add(f"group_norm_{text(*sizes)}", call, [normal(*sizes)], lambda c=sizes[1]: nn.GroupNorm(8, c))
        add(f"instance_norm_{text(*sizes)}", call, [normal(*sizes)], lambda c=sizes[1]: nn.InstanceNorm2d(c, affine=True))


def stft(x):
    window = torch.ones(400, device=x.device, dtype=x.dtype)
    return torch.stft(x.view(1, -1)[:, :64000], 400, 160, window=window, return_complex=True).abs()


ELEMENTS = {
    "sum0": lambda x: x.sum(0), "sum1": lambda x: x.sum(1), "mean_middle": lambda x: x.view(64, -1, x.shape[1]).mean(1),
    "var1": lambda x: x.var(1), "amax0": lambda x: x.amax(0), "argmax1": lambda x: x.argmax(1), "norm": lambda x: x.norm(dim=1),
    "cumsum1": lambda x: x.cumsum(1), "cumsum0": lambda x: x.cumsum(0), "sort": lambda x: x.sort(1)[0],
    "topk": lambda x: x.topk(20, 1)[0], "median": lambda x: x.median(1)[0], "gelu": F.gelu,
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"), "silu": F.silu, "mish": F.mish, "hardswish": F.hardswish,
    "softplus": F.softplus, "elu": F.elu, "tanh": torch.tanh, "erf": torch.erf, "exp": torch.exp,
    "log1p": lambda x: x.abs().log1p(), "pow": lambda x: x.abs().pow(1.7), "sin": torch.sin, "atan2": lambda x: torch.atan2(x, x + 1),
    "where": lambda x: torch.where(x > 0, x, -x), "clamp": lambda x: x.clamp(-1, 1), "transpose": lambda x: x.t().contiguous(),
    "flip": lambda x: x.flip(1), "roll": lambda x: x.roll(3, 1), "cat": lambda x: torch.cat([x, x, x], 1),
    "stack": lambda x: torch.stack([x, x], 1), "pad": lambda x: F.pad(x, (3, 3)),
    "pad_reflect": lambda x: F.pad(x[None], (3, 3), mode="reflect"), "tril": lambda x: x.tril(), "repeat": lambda x: x.repeat(2, 2),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1), "diff": lambda x: x.diff(dim=1),
    "unfold": lambda x: x.unfold(1, 8, 4).contiguous(), "cdist": lambda x: torch.cdist(x[:32, :64], x[32:64, :64]),
    "masked_fill": lambda x: x.masked_fill(x > 1, 0.0), "one_hot": lambda x: F.one_hot((x[:, :8].abs() * 3).long().clamp(0, 15), 16),
    "quantile": lambda x: x.quantile(0.3, 1), "std": lambda x: x.std(), "histc": lambda x: torch.histc(x, 64),
    "rfft": lambda x: torch.fft.rfft(x).abs(), "nonzero": lambda x: (x > 2).nonzero(), "cumprod": lambda x: (x * 0.01 + 1).cumprod(1),
    "searchsorted": lambda x: torch.searchsorted(x[0].sort()[0], x), "unique": lambda x: (x[:64] * 20).long().unique(return_inverse=True),
}


def elements():
    for name, function in ELEMENTS.items():
        for sizes in [(2048, 512), (64, 77)]:
            add(f"{name}_{text(*sizes)}", function, [normal(*sizes)])
    add("stft_256x512", stft, [normal(256, 512)])
    for name, window in dict(hann=torch.hann_window, hamming=torch.hamming_window, blackman=torch.blackman_window,
                             kaiser=torch.kaiser_window).items():
        add(f"{name}_window_400", lambda x, w=window: x * w(x.shape[-1], dtype=x.dtype), [normal(4, 400)])


def indexing():
    for rows_, width, sizes in [(30000, 384, (8, 128)), (1000, 32, (1, 77)), (50000, 64, (256, 20))]:
        add(f"embedding_{text(rows_, width)}_{text(*sizes)}", lambda w, i: F.embedding(i, w), [normal(rows_, width), indices(rows_, *sizes)])
        for mode in ("mean", "sum"):
            add(f"embedding_bag_{mode}_{text(rows_, width)}_{text(*sizes)}", lambda w, i, m=mode: F.embedding_bag(i, w, mode=m),
                [normal(rows_, width), indices(rows_, *sizes)])
    add("gather_2048x512", lambda x, i: x.gather(1, i), [normal(2048, 512), indices(512, 2048, 64)])
    add("gather_points", lambda x, i: x.gather(0, i), [normal(2048, 64), indices(2048, 500, 64)])
    add("index_select_2048x512", lambda x, i: x.index_select(0, i), [normal(2048, 512), indices(2048, 500)])
    add("index_select_columns", lambda x, i: x.index_select(1, i), [normal(2048, 512), indices(512, 100)])
    add("take_along_rows", lambda x, i: x[i], [normal(2048, 16), indices(2048, 64, 32)])
    for n, rows_, width in [(5000, 1000, 64), (20000, 1000, 64), (16384, 2048, 64), (2400, 300, 4)]:
        shape = text(n, rows_, width)
        add(f"scatter_add_{shape}", lambda x, i, s: x.scatter_add(0, i, s), [normal(rows_, width), indices(rows_, n, width), normal(n, width)])
        add(f"scatter_amax_{shape}", lambda x, i, s: x.scatter_reduce(0, i, s, "amax"),
            [normal(rows_, width), indices(rows_, n, width), normal(n, width)])
        add(f"index_add_{shape}", lambda x, i, s: x.index_add(0, i, s), [normal(rows_, width), indices(rows_, n), normal(n, width)])
        add(f"index_put_accumulate_{shape}", lambda x, i, s: x.index_put((i,), s, accumulate=True),
            [normal(rows_, width), indices(rows_, n), normal(n, width)])
    add("bucketize", torch.bucketize, [normal(100000), lambda: torch.randn(100).sort()[0]])
    add("advanced_index", lambda x, i, j: x[i, :, j], [normal(200, 64, 200), indices(200, 1000), indices(200, 1000)])
    add("advanced_index_points", lambda x, i, j: x[:, i, j], [normal(64, 200, 200), indices(200, 1000), indices(200, 1000)])
    add("index_put_points", lambda x, i, j, s: x.index_put((i, j), s), [normal(200, 200), indices(200, 1000), indices(200, 1000), normal(1000)])
    for p, a, b, width in [(2.0, 256, 256, 64), (2.0, 1000, 16, 3), (1.0, 200, 200, 16), (2.0, 20, 20, 128)]:
        add(f"cdist_p{p:.0f}_{text(a, b, width)}", functools.partial(torch.cdist, p=p), [normal(a, width), normal(b, width)])


def boxes(images, n, side):
    """Boxes as image, left, top, right, bottom."""
    corner = torch.rand(n, 2) * side * 0.6
    return torch.cat((torch.randint(0, images, (n, 1)).float(), corner, corner + torch.rand(n, 2) * side * 0.4), 1)


def images():
    for c, h, w in [(64, 56, 56), (3, 224, 224), (32, 17, 19)]:
        for name, f in {
                "max_pool": lambda x: F.max_pool2d(x, 3, 2, 1), "avg_pool": lambda x: F.avg_pool2d(x, 3, 1, 1),
                "adaptive_pool": lambda x: F.adaptive_avg_pool2d(x, 7),
                "bilinear_up": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
                "bilinear_corners": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=True),
                "bilinear_down": lambda x: F.interpolate(x, size=(37, 41), mode="bilinear"),
                "antialias": lambda x: F.interpolate(x, size=(37, 41), mode="bilinear", antialias=True),
                "nearest_up": lambda x: F.interpolate(x, scale_factor=2.0), "bicubic": lambda x: F.interpolate(x, size=(100, 100), mode="bicubic"),
                "pixel_shuffle": lambda x: F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2), "to_last": lambda x: x.permute(0, 2, 3, 1).contiguous(),
                "grid_sample": lambda x: F.grid_sample(x, torch.tanh(x[:, :2].permute(0, 2, 3, 1)))}.items():
            add(f"{name}_{text(c, h, w)}", f, [normal(1, c, h, w)])
    add("windows_64x56x56", lambda x: x.view(1, 64, 8, 7, 8, 7).permute(0, 2, 4, 3, 5, 1).contiguous(), [normal(1, 64, 56, 56)])
    add("antialias_bytes_3x480x640", lambda x: F.interpolate(x, size=(224, 224), mode="bilinear", antialias=True),
        [lambda: torch.randint(0, 256, (1, 3, 480, 640), dtype=torch.uint8)])
    for c, h, n in [(256, 50, 100), (64, 25, 300)]:
        add(f"roi_align_{text(c, h, n)}", lambda x, b: __import__("torchvision").ops.roi_align(x, b, 7, 1.0, 2),
            [normal(1, c, h, h), functools.partial(boxes, 1, n, h)])


for family in (products, convolutions, recurrent, attention, rows, elements, indexing, images):
    family()


def names():
    return list(OPERATORS)


def make(architecture, batch, length):
    _, inputs, modules = OPERATORS[architecture]
    return Program(architecture, [m() for m in modules]), tuple(make_input() for make_input in inputs)
