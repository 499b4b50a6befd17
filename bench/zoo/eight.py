"""The eight models that Tern's kernels were tuned with, from `./dev bench peers`, for comparison."""
from peers.models import MODELS

EIGHT = ("resnet50", "mobilenet_v3_large", "efficientnet_b0", "vit_b_16", "minilm", "gpt2", "llama_prefill", "llama_decode")


def names():
    return EIGHT


def make(architecture, batch, length):
    return MODELS[architecture].make()
