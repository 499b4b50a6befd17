"""Modules that neither torchvision nor transformers has as they are needed here."""
import torch
import torch.nn.functional as F
from torch import nn


class FirstTensor(nn.Module):
    """Token ids in, the first tensor of a transformers model out."""

    def __init__(self, model, options):
        super().__init__()
        self.model, self.options = model, options

    def forward(self, ids):
        return self.model(input_ids=ids, **self.options)[0]


class Chain(nn.Module):
    """Add, mul, sub, neg, abs, max, min, relu, where, fma: work for the memory alone where they are fused."""

    def __init__(self):
        super().__init__()
        self.register_buffer("low", torch.tensor(0.1))
        self.register_buffer("high", torch.tensor(2.5))

    def forward(self, x):
        y = torch.neg((x + 1.5) * 0.7 - 0.3)
        y = torch.minimum(torch.maximum(torch.abs(y), self.low), self.high)
        y = F.relu(y - 0.2)
        return torch.addcmul(x, torch.where(x > 0, y, x), y)


class UNet(nn.Module):
    """Ronneberger et al. 2015, with padding and batch norms: stages going down, and up again beside those that were there."""

    def __init__(self, channels=(32, 64, 128, 256)):
        super().__init__()

        def stage(inputs, outputs):
            layers = []
            for i in (inputs, outputs):
                layers += [nn.Conv2d(i, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
            return nn.Sequential(*layers)

        self.first = stage(3, channels[0])
        self.down = nn.ModuleList(stage(a, b) for a, b in zip(channels, channels[1:]))
        self.up = nn.ModuleList(stage(a + b, a) for a, b in reversed(list(zip(channels, channels[1:]))))
        self.head = nn.Conv2d(channels[0], 1, 1)

    def forward(self, x):
        x = self.first(x)
        beside = []
        for stage in self.down:
            beside.append(x)
            x = stage(F.max_pool2d(x, 2))
        for stage in self.up:
            x = F.interpolate(x, scale_factor=2.0, mode="bilinear")
            x = stage(torch.cat((beside.pop(), x), 1))
        return self.head(x)


class Layer(nn.Module):
    """A layer of a Llama for one token: grouped-query attention over a cache, then a gated feed-forward."""

    def __init__(self, width, hidden, heads, groups):
        super().__init__()
        self.groups, self.head = groups, width // heads
        self.before_attention, self.before_mlp = nn.RMSNorm(width, 1e-6), nn.RMSNorm(width, 1e-6)
        self.q = nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.head, bias=False) for _ in range(2))
        self.o = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def qkv(self, x, rotate):
        """Queries as (1, groups, heads of a group, head): heads that share keys need no copy of these."""
        y = self.before_attention(x)
        q, k, v = (p(y).view(1, self.groups, -1, self.head) for p in (self.q, self.k, self.v))
        return rotate(q), rotate(k), v

    def rest(self, x, attended):
        x = x + self.o(attended.reshape(1, 1, -1))
        y = self.before_mlp(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """What both forms of the cache share."""

    LAYERS, GROUPS, SLOTS, FILLED, HEAD = 8, 4, 1024, 512, 64

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(8000, 1024)
        self.layers = nn.ModuleList(Layer(1024, 2816, 16, self.GROUPS) for _ in range(self.LAYERS))
        self.norm = nn.RMSNorm(1024, 1e-6)
        self.lm_head = nn.Linear(1024, 8000, bias=False)
        self.register_buffer("frequency", 10000.0 ** (torch.arange(0, self.HEAD, 2) / -self.HEAD))

    def rotation(self, position):
        angle = position.to(self.frequency.dtype) * self.frequency
        cos, sin = angle.cos().repeat(2), angle.sin().repeat(2)

        def rotate(x):
            low, high = x.chunk(2, -1)
            return x * cos + torch.cat((-high, low), -1) * sin

        return rotate

    def logits(self, x):
        return self.lm_head(self.norm(x))


class CachedLlama(Llama):
    """The cache is in buffers of fixed size, and a step writes one slot of each: a static cache."""

    def __init__(self):
        super().__init__()
        for i in range(self.LAYERS):
            for name in ("keys", "values"):
                cache = torch.zeros(1, self.GROUPS, self.SLOTS, self.HEAD)
                cache[:, :, :self.FILLED] = torch.randn(1, self.GROUPS, self.FILLED, self.HEAD)
                self.register_buffer(f"{name}{i}", cache)

    def forward(self, token, position):
        x, rotate = self.embed(token), self.rotation(position)
        seen = (torch.arange(self.SLOTS, device=token.device) <= position).view(1, 1, 1, -1)
        for i, layer in enumerate(self.layers):
            q, k, v = layer.qkv(x, rotate)
            keys, values = self.get_buffer(f"keys{i}"), self.get_buffer(f"values{i}")
            keys.index_copy_(2, position, k)
            values.index_copy_(2, position, v)
            x = layer.rest(x, F.scaled_dot_product_attention(q, keys, values, attn_mask=seen))
        return self.logits(x)


class PastLlama(Llama):
    """The same weights with the filled slots as inputs and the longer ones as outputs, for runtimes without state."""

    @classmethod
    def of(cls, cached):
        module = cls()
        module.load_state_dict(cached.state_dict(), strict=False)
        past = [cached.get_buffer(f"{name}{i}")[:, :, :cls.FILLED].contiguous()
                for i in range(cls.LAYERS) for name in ("keys", "values")]
        return module.eval(), past

    def forward(self, token, position, *past):
        x, rotate = self.embed(token), self.rotation(position)
        present = []
        for i, layer in enumerate(self.layers):
            q, k, v = layer.qkv(x, rotate)
            keys, values = torch.cat((past[2 * i], k), 2), torch.cat((past[2 * i + 1], v), 2)
            present += [keys, values]
            x = layer.rest(x, F.scaled_dot_product_attention(q, keys, values))
        return self.logits(x), *present
