"""A model of each timm family: the one with the number of parameters nearest to 15 million, of six candidates."""
import timm
import torch

CANDIDATES, PARAMETERS, MOST = 6, 15e6, 90e6


def names():
    return sorted(timm.list_modules())


def parameters_of(name):
    with torch.device("meta"):
        return sum(p.numel() for p in timm.create_model(name).parameters())


def choose(family):
    models = [m for m in timm.list_models(module=family) if not m.startswith("test_")]
    counts = {}
    for name in models[::max(1, len(models) // CANDIDATES)]:
        try:
            counts[name] = parameters_of(name)
        except Exception as error:  # some families compute while they are made, which meta tensors cannot
            print(f"{name}: {error}")
    name = min(counts, key=lambda n: abs(counts[n] - PARAMETERS))
    if counts[name] > MOST:
        raise RuntimeError(f"{name} has {counts[name]} parameters")
    return name


def make(architecture, batch, length):
    model = timm.create_model(choose(architecture))
    size = list(model.default_cfg["input_size"])
    first = getattr(model, "patch_embed", None)
    fixed = model.default_cfg.get("fixed_input_size") or getattr(first, "strict_img_size", False)
    if not fixed and size[-1] <= 256:
        size[1:] = [length, length]
    return model, (torch.randn(batch, *size),)
