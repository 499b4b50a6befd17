"""The models: float32, random weights from one seed. Each is a line of MODELS; make() gives the module and its inputs."""
import dataclasses
from typing import Callable


@dataclasses.dataclass(frozen=True)
class Model:
    what: str
    make: Callable  # () -> (module, inputs)
    runtimes: tuple[str, ...] = ()  # empty: all runtimes
    needs: str = "torchvision"  # the package with the module's classes
    usual: bool = True  # measured by default


def _tokens(model, ids, **options):
    import torch

    from .modules import FirstTensor

    return FirstTensor(model, options), (torch.randint(0, 8000, ids),)


def _config(config):
    config._attn_implementation = "sdpa"
    return config


def minilm(batch=1, tokens=128):
    from transformers import BertConfig, BertModel

    config = _config(BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536,
                                max_position_embeddings=max(512, tokens)))
    return _tokens(BertModel(config, add_pooling_layer=False), (batch, tokens))


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    return _tokens(GPT2LMHeadModel(_config(GPT2Config())), (1, 128), use_cache=False)


def llama(tokens):
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16,
                         num_key_value_heads=4, vocab_size=8000, max_position_embeddings=2048)
    return _tokens(LlamaModel(_config(config)), (1, tokens), use_cache=False)


def llama_cached():
    import torch

    from .modules import CachedLlama

    return CachedLlama(), (torch.randint(0, 8000, (1, 1)), torch.tensor([512]))


def chain():
    import torch

    from .modules import Chain

    return Chain(), (torch.randn(16, 1024, 1024),)


def unet():
    import torch

    from .modules import UNet

    return UNet(), (torch.randn(1, 3, 256, 256),)


def image(name, batch=1):
    import torch
    import torchvision

    model = torchvision.models.get_model(name, weights=None)
    for parameter in model.parameters():  # initial zeros in vit's last layer would make all results equal
        if parameter.dim() > 1 and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)
    return model, (torch.randn(batch, 3, 224, 224),)


MODELS = {
    "resnet50": Model("1x3x224x224", lambda: image("resnet50")),
    "mobilenet_v3_large": Model("1x3x224x224", lambda: image("mobilenet_v3_large")),
    "efficientnet_b0": Model("1x3x224x224", lambda: image("efficientnet_b0")),
    "densenet121": Model("1x3x224x224, each layer joined to those before", lambda: image("densenet121")),
    "unet": Model("1x3x256x256, four stages of 32 to 256 channels, resized bilinearly", unet),
    "vit_b_16": Model("1x3x224x224", lambda: image("vit_b_16")),
    "minilm": Model("BERT of 6 layers, 1x128 tokens", minilm, needs="transformers"),
    "gpt2": Model("1x128 tokens, all logits", gpt2, needs="transformers"),
    "llama_prefill": Model("8 layers of 1024, 1x128 tokens", lambda: llama(128), needs="transformers"),
    "llama_decode": Model("the same, one token, no cache", lambda: llama(1), needs="transformers"),
    "llama_cached": Model("the same with a head of 8000, one token, 512 of 1024 slots of its cache filled", llama_cached,
                          ("tern", "packed", "eager", "compile", "aoti", "ort"), needs="transformers"),
    "chain": Model("ten pointwise operators over 64 MB", chain),
}


def _larger():
    """Batches of images and sentences, and longer texts."""
    for batch in (8, 32):
        for name in ("resnet50", "mobilenet_v3_large"):
            yield f"{name}_x{batch}", Model(f"{batch}x3x224x224", lambda n=name, b=batch: image(n, b), usual=False)
        yield f"minilm_x{batch}", Model(f"{batch}x128 tokens", lambda b=batch: minilm(b), needs="transformers", usual=False)
    for tokens in (512, 2048):
        yield f"minilm_{tokens}", Model(f"1x{tokens} tokens", lambda t=tokens: minilm(1, t), needs="transformers",
                                        usual=False)
        yield f"llama_{tokens}", Model(f"1x{tokens} tokens", lambda t=tokens: llama(t), needs="transformers", usual=False)


MODELS |= _larger()
USUAL = [name for name, model in MODELS.items() if model.usual]


def import_classes(name):
    """Imports what a pickled module of this model names."""
    from . import modules  # noqa: F401

    if MODELS[name].needs == "transformers":
        from transformers import BertModel, GPT2LMHeadModel, LlamaModel  # noqa: F401
    else:
        import torchvision  # noqa: F401


def make(name):
    """The module, ready to run, and its inputs; the same each time."""
    import torch

    torch.manual_seed(0)
    module, inputs = MODELS[name].make()
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    return module.eval(), inputs
