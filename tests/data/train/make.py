#!/usr/bin/env python3
"""Makes the programs that tests/scripts/train.py trains, and the losses that PyTorch has in training them.

  make.py [OUT]      needs torch (2.9 or later), safetensors

Writes mlp.pt2 and encoder.pt2, of float64 and untrained, encoder_data.safetensors, and losses.json: for each case how it
is trained, and the loss of each step. further.json has the losses of what came later: SGD's dampening. lora.json has the
losses of low-rank adapters, written by hand as PEFT has them, and lora.safetensors the adapters after the last step. conv1d.pt2 has layers as GPT-2 has them, x W + b with W [in, out], and conv1d.json its losses
and results with adapters. parallel.json has the losses of several ranks, as
DistributedDataParallel trains mlp.pt2 and encoder.pt2. eight_bits.pt2 is a wider perceptron of float32, and
eight_bits.json has the losses that torchao 0.18 has in training it with states of 8 bits; for it alone torchao is needed
(make.py OUT eight_bits); `make.py OUT tied_lora` makes tied_head.pt2 and its like. attention_dropout.pt2 is causal attention with dropout, with two heads of keys for four of
queries. tied.pt2 has parameters of two types and tied weights, and tied.json its case. The images are those of examples/digits/digits_test.safetensors, in their order.
"""
import json
import math
import os
import pathlib
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.export import Dim, export, load, save

OUT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
ROOT = pathlib.Path(__file__).resolve().parents[3]
STEPS, BATCH, TOKENS, LENGTH = 100, 32, 17, 8
# Optimizer, rate, other arguments, --clip-norm: for torch and for `tern export`.
OPTIMIZERS = [
    ("sgd", 0.1, {}, None),
    ("sgd", 0.05, {"momentum": 0.9, "nesterov": True, "weight_decay": 1e-3}, None),
    ("adam", 2e-3, {}, 1.0),
    ("adamw", 2e-3, {"amsgrad": True}, None),
    ("rmsprop", 1e-3, {"momentum": 0.5}, None),
    ("nadam", 2e-3, {}, None),
]


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(64, 16), nn.Linear(16, 10)

    def forward(self, images):
        return self.fc2(torch.relu(self.fc1(images.flatten(1))))


class WidePerceptron(nn.Module):
    """Two of its weights have states of 8 bits, the third one and the biases have too few elements."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 10)

    def forward(self, images):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(images.flatten(1))))))


class Encoder(nn.Module):
    """A layer of a transformer: for each place the token of that rank."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, 16)
        self.places = nn.Parameter(torch.randn(LENGTH, 16) * 0.02)
        layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(16, TOKENS)

    def forward(self, tokens):
        return self.head(self.layers(self.tokens(tokens) + self.places))


class Conv1D(nn.Module):
    """A linear layer whose weight is [in, out]."""

    def __init__(self, features, out):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(features, out) * 0.2), nn.Parameter(torch.zeros(out))

    def forward(self, x):
        y = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return y.view(x.size()[:-1] + (self.weight.size(1),))


class FeedForward(nn.Module):
    """Of each token alone, with a head that is an ordinary linear layer. hidden.weight is square."""

    def __init__(self):
        super().__init__()
        self.tokens, self.head = nn.Embedding(TOKENS, 16), nn.Linear(24, TOKENS)
        self.hidden, self.wide = Conv1D(16, 16), Conv1D(16, 24)

    def forward(self, tokens):
        return self.head(torch.tanh(self.wide(torch.tanh(self.hidden(self.tokens(tokens))))))


class Tied(nn.Module):
    """The weights of the embedding are those of the head, in float32; the rest is float64."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, 16)
        self.norm, self.fc = nn.LayerNorm(16).double(), nn.Linear(16, 16).double()
        self.head = nn.Linear(16, TOKENS, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        x = self.tokens(tokens).double()
        return self.head(torch.tanh(self.fc(self.norm(x))).float()).double()


class TiedHead(nn.Module):
    """A head with the embedding's weights; all float64."""

    def __init__(self):
        super().__init__()
        self.tokens, self.fc = nn.Embedding(TOKENS, 16).double(), nn.Linear(16, 16).double()
        self.head = nn.Linear(16, TOKENS, bias=False).double()
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.fc(self.tokens(tokens))))


def train(path, inputs, targets, class_axis, name, lr, settings, clip):
    model = load(path).module()
    classes = {n.lower(): getattr(torch.optim, n) for n in ("SGD", "Adam", "AdamW", "RMSprop", "NAdam")}
    if name.endswith("8bit"):
        import torchao.optim

        classes = {n.lower(): getattr(torchao.optim, n) for n in ("Adam8bit", "AdamW8bit")}
    optimizer = classes[name](model.parameters(), lr=lr, **settings)
    losses = []
    while True:
        for first in range(0, len(targets), BATCH):
            part = slice(first, first + BATCH)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs[part]).movedim(class_axis, 1), targets[part])
            loss.backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            losses.append(loss.item())
            if len(losses) == STEPS:
                return losses


class Adapted(nn.Module):
    """A linear layer with a low-rank adapter (Hu et al., 2021)."""

    def __init__(self, base, rank, alpha):
        super().__init__()
        self.base, self.scale = base, alpha / rank
        out, features = base.weight.T.shape if isinstance(base, Conv1D) else base.weight.shape
        self.a = nn.Parameter(torch.empty(rank, features, dtype=base.weight.dtype))
        self.b = nn.Parameter(torch.zeros(out, rank, dtype=base.weight.dtype))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.a.T) @ self.b.T


def conv1d():
    """Adapters of all linear layers, those whose weight is [in, out] too: AdamW, 20 steps, rank 2."""
    torch.manual_seed(0)
    model = FeedForward().double().train()
    data = load_file(OUT / "encoder_data.safetensors")
    tokens, targets = data["tokens"], data["target"]
    save(export(model, (tokens[:4],), dynamic_shapes=({0: Dim("batch", max=4096)},)), OUT / "conv1d.pt2")
    torch.manual_seed(0)
    names = [n.removesuffix(".weight") for n, _ in model.named_parameters() if n.endswith(".weight") and n != "tokens.weight"]
    for name in names:  # ordered like the program's states
        setattr(model, name, Adapted(getattr(model, name), 2, 4))
    optimizer = torch.optim.AdamW([p for n in names for p in (getattr(model, n).a, getattr(model, n).b)], lr=1e-2)
    losses = []
    for step in range(20):
        part = slice(step * BATCH % len(targets), step * BATCH % len(targets) + BATCH)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(tokens[part]).movedim(-1, 1), targets[part])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    (OUT / "conv1d.json").write_text(json.dumps({
        "torch": torch.__version__.split("+")[0], "lr": 1e-2, "lora": "*:rank=2,alpha=4", "losses": losses,
        "result": model(tokens[:4]).flatten().tolist()}) + "\n")


def lora():
    """Adapters of the feed-forward part (rank 3) and the head (rank 2) of the encoder, AdamW on them alone."""
    model = Encoder().double()
    model.load_state_dict(load(OUT / "encoder.pt2").state_dict)
    data = load_file(OUT / "encoder_data.safetensors")
    tokens, targets = data["tokens"], data["target"]
    layer = model.layers.layers[0]
    torch.manual_seed(5)
    # Ordered like the program's states.
    layer.linear1, layer.linear2 = Adapted(layer.linear1, 3, 6), Adapted(layer.linear2, 3, 6)
    model.head = Adapted(model.head, 2, 2)
    adapted = {"layers.layers.0.linear1": layer.linear1, "layers.layers.0.linear2": layer.linear2, "head": model.head}
    model.train()
    optimizer = torch.optim.AdamW([p for m in adapted.values() for p in (m.a, m.b)], lr=1e-2)
    losses = []
    while len(losses) < STEPS:
        for first in range(0, len(targets), BATCH):
            part = slice(first, first + BATCH)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(tokens[part]).movedim(-1, 1), targets[part])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) == STEPS:
                break
    (OUT / "lora.json").write_text(json.dumps({
        "torch": torch.__version__.split("+")[0], "lr": 1e-2, "seed": 5, "losses": losses,
        "lora": ["layers.*.linear?:rank=3,alpha=6", "head.weight:rank=2"]}) + "\n")
    tensors = {f"{name}.{key}": tensor.detach() for name, m in adapted.items() for key, tensor in (("a", m.a), ("b", m.b))}
    save_file(tensors | {"result": model(tokens[:4]).detach()}, OUT / "lora.safetensors")


def tied_lora():
    """tied_lora.json: losses of an adapter of rank 3 for a head with the embedding's weight. PEFT wraps the head alone.
    tied_head.pt2 and tied_strict.pt2 are the program; tied_copy.pt2 has the copy that `tern export --lora` proposes."""
    torch.manual_seed(0)
    model = TiedHead().train()
    tokens = load_file(OUT / "encoder_data.safetensors")["tokens"]
    targets = tokens.sort(1).values
    batch = ({0: Dim("batch", max=4096)},)
    for name in ("tied_head", "tied_strict", "tied_copy"):
        if name == "tied_copy":
            model.head.weight = nn.Parameter(model.head.weight.detach().clone())
        save(export(model, (tokens[:4],), dynamic_shapes=batch, strict=name == "tied_strict"), OUT / f"{name}.pt2")
    model.head.weight = model.tokens.weight
    torch.manual_seed(3)
    model.head = Adapted(model.head, 3, 6)
    optimizer = torch.optim.AdamW([model.head.a, model.head.b], lr=1e-2)
    losses = []
    while len(losses) < STEPS:
        for part in torch.arange(len(targets)).split(BATCH):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(tokens[part]).movedim(-1, 1), targets[part])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) == STEPS:
                break
    (OUT / "tied_lora.json").write_text(json.dumps({
        "torch": torch.__version__.split("+")[0], "lr": 1e-2, "seed": 3, "lora": "head:rank=3,alpha=6",
        "losses": losses}) + "\n")


def further():
    digits = load_file(ROOT / "examples/digits/digits_test.safetensors")
    settings = {"momentum": 0.9, "dampening": 0.5, "weight_decay": 1e-2}
    case = {"model": "mlp", "optimizer": "sgd", "lr": 0.1, "settings": settings, "clip": None}
    losses = train(OUT / "mlp.pt2", digits["images"].double(), digits["labels"], 1, "sgd", 0.1, settings, None)
    (OUT / "further.json").write_text(json.dumps({"torch": torch.__version__.split("+")[0], "cases": [case | {
        "losses": losses}]}) + "\n")


def eight_bits():
    os.environ["TORCHDYNAMO_DISABLE"] = "1"  # torchao compiles each step; the eager operators give the reference
    import torchao.optim.adam

    def step_of_torch(p, grad, step, m, v, largest, lr, beta1, beta2, decay, eps, is_adamw, rounds):
        """torchao's with the corrections of torch.optim: 1 - beta2^step in float32 is wrong by 3e-5 at first, which
        moves the loss by 5e-3 within 100 steps."""
        rate, step = lr.item(), step.item()
        if is_adamw:
            p.mul_(1 - rate * decay)
        else:
            grad = grad + decay * p
        new_m, new_v = m.lerp(grad, 1 - beta1), v.lerp(grad.square(), 1 - beta2)
        m.copy_(new_m)
        v.copy_(new_v)
        p.sub_(rate / (1 - beta1**step) * new_m / (new_v.sqrt() / math.sqrt(1 - beta2**step) + eps))

    torchao.optim.adam.single_param_adam = step_of_torch
    torch.manual_seed(0)
    save(export(WidePerceptron().train(), (torch.randn(4, 1, 8, 8),), dynamic_shapes=({0: Dim("batch", max=4096)},)),
         OUT / "eight_bits.pt2")
    digits = load_file(ROOT / "examples/digits/digits_test.safetensors")
    cases = []
    for name, settings in (("adamw8bit", {}), ("adam8bit", {})):
        losses = train(OUT / "eight_bits.pt2", digits["images"], digits["labels"], 1, name, 2e-3, settings, None)
        cases.append({"model": "eight_bits", "optimizer": name, "lr": 2e-3, "settings": settings, "clip": None,
                      "losses": losses[:60]})  # a single code differs later
    (OUT / "eight_bits.json").write_text(json.dumps({"torch": torch.__version__.split("+")[0], "torchao": "0.18.0",
                                                     "cases": cases}) + "\n")


class DroppedAttention(nn.Module):
    def forward(self, q, k, v):
        return nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.25, is_causal=True, enable_gqa=True)


def attention_dropout():
    q, k = torch.randn(4, 4, 16, 8), torch.randn(4, 2, 16, 8)
    save(export(DroppedAttention(), (q, k, k)), OUT / "attention_dropout.pt2")


def tied():
    torch.manual_seed(0)
    tokens = load_file(OUT / "encoder_data.safetensors")["tokens"]
    save(export(Tied().train(), (tokens[:4],), dynamic_shapes=({0: Dim("batch", max=4096)},)), OUT / "tied.pt2")
    case = {"model": "tied", "optimizer": "adamw", "lr": 3e-3, "settings": {}, "clip": 0.5}
    losses = train(OUT / "tied.pt2", tokens, tokens.sort(1).values, -1, "adamw", 3e-3, {}, 0.5)
    (OUT / "tied.json").write_text(json.dumps({"torch": torch.__version__.split("+")[0], "cases": [case | {
        "losses": losses}]}) + "\n")


def parallel_rank(rank, ranks, file, results):
    """DistributedDataParallel over gloo: the mean of the ranks' losses, step by step."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=ranks)
    digits = load_file(ROOT / "examples/digits/digits_test.safetensors")
    order = load_file(OUT / "encoder_data.safetensors")["tokens"]
    data = {"mlp": (digits["images"].double(), digits["labels"], 1), "encoder": (order, order.sort(1).values, -1)}
    for case in PARALLEL:
        inputs, targets, class_axis = data[case["model"]]
        model = nn.parallel.DistributedDataParallel(load(OUT / f"{case['model']}.pt2").module(), bucket_cap_mb=0.001)
        optimizer = getattr(torch.optim, case["class"])(model.parameters(), lr=case["lr"], **case["settings"])
        sampler = torch.utils.data.DistributedSampler(range(len(targets)), ranks, rank, shuffle=False)
        own, losses = torch.tensor(list(sampler)), []
        while len(losses) < STEPS:
            for part in own.split(BATCH // ranks):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(inputs[part]).movedim(class_axis, 1), targets[part])
                loss.backward()
                if case["clip"] is not None:
                    nn.utils.clip_grad_norm_(model.parameters(), case["clip"])
                optimizer.step()
                mean = loss.detach().clone()
                torch.distributed.all_reduce(mean)
                losses.append(mean.item() / ranks)
                if len(losses) == STEPS:
                    break
        if rank == 0:
            results.put({k: v for k, v in case.items() if k != "class"} | {"ranks": ranks, "losses": losses})
    torch.distributed.destroy_process_group()


PARALLEL = [
    {"model": "mlp", "optimizer": "sgd", "class": "SGD", "lr": 0.05, "settings": {"momentum": 0.9}, "clip": None},
    {"model": "mlp", "optimizer": "adamw", "class": "AdamW", "lr": 2e-3, "settings": {}, "clip": 0.5},
    {"model": "encoder", "optimizer": "adam", "class": "Adam", "lr": 3e-3, "settings": {}, "clip": None},
]


def parallel():
    """parallel.json: losses of 2 and 4 ranks."""
    spawn = torch.multiprocessing.get_context("spawn")
    cases = []
    for ranks in (2, 4):
        with tempfile.TemporaryDirectory() as folder:
            results = spawn.SimpleQueue()
            processes = [spawn.Process(target=parallel_rank, args=(r, ranks, f"{folder}/ranks", results))
                         for r in range(ranks)]
            for p in processes:
                p.start()
            cases += [results.get() for _ in PARALLEL]
            for p in processes:
                p.join()
    (OUT / "parallel.json").write_text(json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases}) + "\n")


def main():
    torch.set_num_threads(1)
    if "eight_bits" in sys.argv[2:]:
        return eight_bits()
    if "tied_lora" in sys.argv[2:]:
        return tied_lora()
    attention_dropout()
    torch.manual_seed(0)
    batch = ({0: Dim("batch", max=4096)},)
    save(export(Mlp().double().train(), (torch.randn(4, 1, 8, 8).double(),), dynamic_shapes=batch), OUT / "mlp.pt2")
    tokens = torch.randint(0, TOKENS, (256, LENGTH))
    save(export(Encoder().double().train(), (tokens[:4],), dynamic_shapes=batch), OUT / "encoder.pt2")
    save_file({"tokens": tokens, "target": tokens.sort(1).values}, OUT / "encoder_data.safetensors")
    digits = load_file(ROOT / "examples/digits/digits_test.safetensors")
    cases = []
    for name, lr, settings, clip in OPTIMIZERS:
        losses = train(OUT / "mlp.pt2", digits["images"].double(), digits["labels"], 1, name, lr, settings, clip)
        cases.append({"model": "mlp", "optimizer": name, "lr": lr, "settings": settings, "clip": clip, "losses": losses})
    losses = train(OUT / "encoder.pt2", tokens, tokens.sort(1).values, -1, "adamw", 3e-3, {}, None)
    cases.append({"model": "encoder", "optimizer": "adamw", "lr": 3e-3, "settings": {}, "clip": None, "losses": losses})
    (OUT / "losses.json").write_text(json.dumps({"torch": torch.__version__.split("+")[0], "cases": cases}) + "\n")
    tied()
    further()
    lora()
    tied_lora()
    conv1d()
    parallel()


if __name__ == "__main__":
    main()
