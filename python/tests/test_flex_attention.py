"""FlexAttention in programs: values of PyTorch's eager flex_attention."""

import math

import pytest

import tern

torch = pytest.importorskip("torch")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

LENGTH, HEADS, WIDTH = 48, 4, 16
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
DOCUMENTS = torch.tensor([0] * 20 + [1] * 28)
DISTANCES = torch.linspace(-1, 1, HEADS * LENGTH).reshape(HEADS, LENGTH)

SCORES = {
    "none": None,
    "causal": lambda score, b, h, i, j: torch.where(i >= j, score, -math.inf),
    "alibi": lambda score, b, h, i, j: score + SLOPES[h] * (j - i),
    "table": lambda score, b, h, i, j: score + DISTANCES[h][(i - j).abs()],
    "soft cap": lambda score, b, h, i, j: 20 * torch.tanh(score / 20),
    "factor": lambda score, b, h, i, j: score * SLOPES[h],
}
MASKS = {
    "none": None,
    "causal": lambda b, h, i, j: i >= j,
    "window": lambda b, h, i, j: (i >= j) & (i - j < 8),
    "prefix": lambda b, h, i, j: (j < 10) | (i >= j),
    "documents": lambda b, h, i, j: DOCUMENTS[i] == DOCUMENTS[j],
    "rows without keys": lambda b, h, i, j: (i > 5) & (i >= j),
}


class Attention(torch.nn.Module):
    def __init__(self, score, mask, length=LENGTH, **options):
        super().__init__()
        self.score, self.options = score, options
        self.blocks = None
        if mask is not None:
            self.blocks = flex.create_block_mask(mask, None, None, length, length, device="cpu")

    def forward(self, query, key, value):
        return flex.flex_attention(query, key, value, self.score, self.blocks, **self.options)


def operands(heads=HEADS, dtype=torch.float32, length=LENGTH):
    torch.manual_seed(0)
    return [torch.randn(2, n, length, WIDTH, dtype=dtype) for n in (HEADS, heads, heads)]


def archive(module, args, path, **options):
    tern.export(torch.export.export(module, tuple(args), strict=False, **options), path)
    return tern.load(path)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", SCORES)
def test_scores_and_masks(tmp_path, score, mask):
    module, args = Attention(SCORES[score], MASKS[mask]), operands()
    got = archive(module, args, tmp_path / "flex.tern")(*args)
    torch.testing.assert_close(got.torch(), module(*args), rtol=1e-5, atol=1e-5)


LONG = 700  # several blocks of keys, the last one partial
LONG_DOCUMENTS = torch.arange(LONG) // 150
LONG_MASKS = {
    "causal": lambda b, h, i, j: i >= j,
    "window": lambda b, h, i, j: (i >= j) & (i - j < 100),
    "prefix": lambda b, h, i, j: (j < 130) | (i >= j),
    "documents": lambda b, h, i, j: LONG_DOCUMENTS[i] == LONG_DOCUMENTS[j],
    "heads": lambda b, h, i, j: (i >= j) & (i - j < 64 * (h + 1)),
    "rows without keys": lambda b, h, i, j: (i > 200) & (i >= j),
}
LONG_SCORES = {"none": None, "alibi": SCORES["alibi"], "soft cap": SCORES["soft cap"]}
TOLERANCES = {torch.float32: 1e-5, torch.bfloat16: 2e-2}


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("mask", LONG_MASKS)
@pytest.mark.parametrize("score", LONG_SCORES)
def test_blocks(tmp_path, score, mask, dtype):
    module, args = Attention(LONG_SCORES[score], LONG_MASKS[mask], LONG), operands(dtype=dtype, length=LONG)
    got = archive(module, args, tmp_path / "flex.tern")(*args).torch()
    torch.testing.assert_close(got, module(*args), rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])
    if mask == "rows without keys":
        assert (got[:, :, :201] == 0).all()


@pytest.mark.parametrize("mask", ["window", "rows without keys"])
@pytest.mark.parametrize("score", LONG_SCORES)
def test_sums_of_exponentials(tmp_path, score, mask):
    module, args = Attention(LONG_SCORES[score], LONG_MASKS[mask], LONG, return_lse=True), operands(length=LONG)
    got = archive(module, args, tmp_path / "flex.tern")(*args)
    for result, expected in zip(got, module(*args)):
        torch.testing.assert_close(result.torch(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("score", LONG_SCORES)
def test_no_scores_are_stored(tmp_path, score):
    """Scores of 4 heads of 2,048 tokens take 64 MiB."""
    length = 2048
    args = [torch.randn(1, HEADS, length, WIDTH) for _ in range(3)]
    archive(Attention(LONG_SCORES[score], LONG_MASKS["window"], length), args, tmp_path / "flex.tern")
    with tern.load(tmp_path / "flex.tern", max_memory=8 << 20) as model:
        model(*args)


@pytest.mark.parametrize("score", ["none", "alibi", "soft cap"])
def test_heads_share_keys(tmp_path, score):
    module, args = Attention(SCORES[score], MASKS["causal"], enable_gqa=True), operands(heads=2)
    got = archive(module, args, tmp_path / "flex.tern")(*args)
    torch.testing.assert_close(got.torch(), module(*args), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("score", ["causal", "alibi", "soft cap"])
def test_lengths_of_a_run(tmp_path, score):
    class Decoder(torch.nn.Module):
        def forward(self, query, key, value):
            return flex.flex_attention(query, key, value, SCORES[score])

    args, length = operands(length=LONG), torch.export.Dim("length", min=2, max=1024)
    model = archive(Decoder(), args, tmp_path / "flex.tern", dynamic_shapes=[{2: length}] * 3)
    for n in (LONG, 48, 31, 2):
        shorter = [t[:, :, :n] for t in args]
        torch.testing.assert_close(model(*shorter).torch(), Decoder()(*shorter), rtol=1e-5, atol=1e-5)


def test_float64_keeps_its_digits(tmp_path):
    module, args = Attention(SCORES["soft cap"], MASKS["window"]), operands(dtype=torch.float64)
    got = archive(module, args, tmp_path / "flex.tern")(*args)
    torch.testing.assert_close(got.torch(), module(*args), rtol=1e-12, atol=1e-12)


def test_captured_parameter(tmp_path):
    class Biased(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.randn(HEADS))

        def forward(self, query, key, value):
            return flex.flex_attention(query, key, value, lambda score, b, h, i, j: score + self.bias[h] * (i - j).abs())

    module, args = Biased(), operands()
    got = archive(module, args, tmp_path / "flex.tern")(*args)
    torch.testing.assert_close(got.torch(), module(*args).detach(), rtol=1e-5, atol=1e-5)
    tern.export(torch.export.export(module, tuple(args), strict=False), tmp_path / "states.tern", fold=False)
    assert "bias" in [state["name"] for state in tern.inspect(tmp_path / "states.tern").states]


def test_the_captured_program_can_be_saved(tmp_path):
    module, args = Attention(SCORES["alibi"], MASKS["window"]), operands()
    program = tern.capture(module, args)
    torch.export.save(program, tmp_path / "flex.pt2")
    again = torch.export.load(tmp_path / "flex.pt2").module()
    torch.testing.assert_close(again(*args), module(*args), rtol=1e-5, atol=1e-5)
