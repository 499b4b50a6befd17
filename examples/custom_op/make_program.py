# Creates rope.pt2 and rope.safetensors: a program calling an operator missing in PyTorch.
#   pip install torch safetensors && python make_program.py
import torch
from safetensors.torch import save_file


@torch.library.custom_op("mylib::rope", mutates_args=())
def rope(x: torch.Tensor, base: float, offset: int = 0) -> torch.Tensor:
    """Rotary position embedding (Su et al. 2021) of x [batch, position, 2 * pair]; pairs are neighbours."""
    half = x.shape[-1] // 2
    frequency = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = (torch.arange(x.shape[-2], dtype=torch.float64) + offset)[:, None] * frequency
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


@rope.register_fake
def _(x, base, offset=0):
    return torch.empty_like(x)


class Scores(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(16, 8)
        self.key = torch.nn.Linear(16, 8)

    def forward(self, x):
        q, k = rope(self.query(x), 10000.0), rope(self.key(x), 10000.0, 3)
        return torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1)


torch.manual_seed(0)
model, x = Scores().eval(), torch.randn(2, 5, 16)
batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=512)
exported = torch.export.export(model, (x,), dynamic_shapes=({0: batch, 1: length},))
torch.export.save(exported, "rope.pt2")
x = torch.randn(3, 7, 16)
save_file(
    {"in0": x, "out0": model(x).detach()},
    "rope.safetensors",
    metadata={"op": "mylib.rope", "dtype": "f32", "torch": torch.__version__},
)
