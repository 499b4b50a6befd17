"""The base model of each architecture of transformers, with four layers of 256."""
import inspect

import torch
from torch import nn
from transformers import CONFIG_MAPPING, AutoModel
from transformers.models.auto.modeling_auto import MODEL_MAPPING

from .forms import tensors

# Sizes of the configuration, tried in this order: the second serves architectures that bind several sizes together.
MIDDLE, SMALL = [{key: value for value, keys in sizes.items() for key in keys.split()} for sizes in (
    {256: "hidden_size d_model n_embd dim embedding_size moe_intermediate_size",
     4: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_attention_heads n_head n_heads num_heads "
        "encoder_attention_heads decoder_attention_heads num_experts num_local_experts n_routed_experts",
     2: "num_key_value_heads num_experts_per_tok eos_token_id",
     1024: "intermediate_size ffn_dim d_ff encoder_ffn_dim decoder_ffn_dim",
     64: "d_kv head_dim v_head_dim qk_rope_head_dim qk_nope_head_dim q_lora_rank kv_lora_rank",
     4000: "vocab_size", 0: "pad_token_id", 1: "bos_token_id"},
    {64: "hidden_size d_model n_embd dim embedding_size moe_intermediate_size",
     2: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_key_value_heads num_experts_per_tok "
        "eos_token_id",
     4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads num_experts "
        "num_local_experts n_routed_experts",
     128: "intermediate_size ffn_dim d_ff encoder_ffn_dim decoder_ffn_dim",
     16: "d_kv head_dim qk_rope_head_dim qk_nope_head_dim v_head_dim", 32: "q_lora_rank kv_lora_rank",
     500: "vocab_size", 0: "pad_token_id", 1: "bos_token_id"})]
POSITIONS = ("max_position_embeddings", "n_positions", "n_ctx")
MOST = 90e6


class Base(nn.Module):
    """Flat inputs by name, and the tensors of the result."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *values):
        result = self.model(**dict(zip(self.names, values)))
        return tuple(tensors(tuple(result.values()) if isinstance(result, dict) else result))


def names():
    return sorted(k for k in CONFIG_MAPPING if CONFIG_MAPPING[k] in MODEL_MAPPING)


def model_of(kind, sizes, tokens):
    base = CONFIG_MAPPING[kind]()
    chosen = {k: v for k, v in sizes.items() if isinstance(getattr(base, k, None), int)}
    chosen |= {k: max(512, tokens + 8) for k in POSITIONS if isinstance(getattr(base, k, None), int)}
    if getattr(base, "layer_types", None) and "mamba" not in kind:
        layers = chosen.get("num_hidden_layers", len(base.layer_types))
        chosen["layer_types"] = base.layer_types[:layers]
    config = CONFIG_MAPPING[kind](**chosen)
    config._attn_implementation = "sdpa"
    try:
        with torch.device("meta"):
            count = sum(p.numel() for p in AutoModel.from_config(config).parameters())
    except ValueError:  # this implementation of attention is missing
        config._attn_implementation, count = "eager", 0
    if count > MOST:
        raise RuntimeError(f"{kind} has {count} parameters")
    return AutoModel.from_config(config)


def inputs_of(model, batch, tokens):
    accepted, config = inspect.signature(model.forward).parameters, model.config
    if "pixel_values" in accepted and "input_ids" not in accepted:
        side = getattr(config, "image_size", 64)
        side = side if isinstance(side, int) else side[0]
        return {"pixel_values": torch.randn(batch, getattr(config, "num_channels", 3), side, side)}
    if "input_values" in accepted:
        return {"input_values": torch.randn(batch, 16000)}
    if "input_features" in accepted:
        mels = getattr(config, "num_mel_bins", 80)
        return {"input_features": torch.randn(batch, mels, 2 * getattr(config, "max_source_positions", 1500))}
    inputs = {"input_ids": torch.randint(3, 400, (batch, tokens))}
    if "decoder_input_ids" in accepted:
        inputs["decoder_input_ids"] = torch.randint(3, 400, (batch, min(tokens, 64)))
    return inputs


def make(architecture, batch, length):
    for sizes in (MIDDLE, SMALL):
        try:
            model = model_of(architecture, sizes, length).eval()
            model.config.use_cache = False
            inputs = inputs_of(model, batch, length)
            with torch.no_grad():
                model(**inputs)
            break
        except Exception:
            if sizes is SMALL:
                raise
    return Base(model, tuple(inputs)), tuple(inputs.values())
