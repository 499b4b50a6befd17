"""The decoder: the configuration of Qwen2.5-0.5B, whose head is its embedding, with random weights from one seed."""
import torch
from torch import nn
from transformers import DynamicCache, GenerationConfig, Qwen2Config, Qwen2ForCausalLM
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

CONFIG = {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
          "num_key_value_heads": 2, "vocab_size": 151936, "max_position_embeddings": 32768, "rope_theta": 1e6,
          "rms_norm_eps": 1e-6, "tie_word_embeddings": True}
SLOTS, POSITION, TOKEN = 128, 64, 11  # cache size; the token's position; the token


def decoder(dtype=torch.bfloat16):
    """The weights are bfloat16 numbers whatever the type."""
    torch.manual_seed(0)
    config = Qwen2Config(**CONFIG, dtype=torch.bfloat16)
    config._attn_implementation = "sdpa"
    model = Qwen2ForCausalLM(config).to(torch.bfloat16)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(False)
        if name.endswith("bias"):  # replaces zeros, because a runtime might skip them
            nn.init.normal_(parameter, std=0.02)
    return model.to(dtype).eval()


def with_static_cache(model):
    """The cache is in buffers of fixed size, as transformers exports it for ExecuTorch; (token, position) -> logits."""
    model.generation_config = GenerationConfig(use_cache=True, cache_implementation="static", max_length=SLOTS)
    return TorchExportableModuleWithStaticCache(model, batch_size=1, max_cache_len=SLOTS, device=torch.device("cpu"))


class WithPast(nn.Module):
    """The filled slots are inputs and the new ones outputs, for runtimes whose programs have no state."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, position, *past):
        cache = DynamicCache([(past[2 * i], past[2 * i + 1]) for i in range(len(past) // 2)], config=self.model.config)
        logits = self.model(input_ids=ids, past_key_values=cache, position_ids=position, use_cache=True).logits
        return (logits, *(x[:, :, -1:] for layer in cache.layers for x in (layer.keys, layer.values)))


def inputs():
    return {"input_ids": torch.tensor([[TOKEN]]), "cache_position": torch.tensor([POSITION])}


def past_inputs(dtype=torch.float32):
    """As a static cache begins: zeros."""
    head = CONFIG["hidden_size"] // CONFIG["num_attention_heads"]
    past = torch.zeros(1, CONFIG["num_key_value_heads"], POSITION, head, dtype=dtype)
    return (torch.tensor([[TOKEN]]), torch.tensor([[POSITION]]), *[past.clone() for _ in range(2 * CONFIG["num_hidden_layers"])])
