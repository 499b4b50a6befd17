"""What a weight becomes in the formats of `tern export --quantize`: the formulas of docs/quantization.md, in PyTorch."""
import torch


def int8(w):
    scale = (w.abs().amax(-1, keepdim=True) / 127.5).clamp_min(2**-23)
    return (w.float() * (1 / scale.float())).round().clamp(-128, 127) * scale.float()


def int4(w):
    blocks = w.reshape(w.shape[0], -1, 32)
    scale = blocks.abs().amax(-1, keepdim=True) / 7.5
    return ((blocks * (1 / scale)).round().clamp(-8, 7).float() * scale.float()).reshape(w.shape)


def mxfp4(w):
    blocks = w.float().reshape(w.shape[0], -1, 32)
    scale = torch.exp2(torch.floor(torch.log2(blocks.abs().amax(-1, keepdim=True))) - 2)
    x = (blocks / scale).clamp(-6, 6)
    step = torch.exp2(torch.floor(torch.log2(x.abs().clamp_min(1))) - 1)  # between neighbours: 1/2, 1, 2
    return ((x / step).round() * step * scale).reshape(w.shape)


FORMATS = {"int8": int8, "int4": int4, "mxfp4": mxfp4}


def apply(model, name):
    """Rounds all matrices of a float32 model whose weights are bfloat16 numbers."""
    for parameter in model.parameters():
        if parameter.dim() == 2:
            parameter.copy_(FORMATS[name](parameter.bfloat16()))
    return model
