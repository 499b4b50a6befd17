#!/usr/bin/env python3
"""Makes the cases of tests/data/gguf.tar.zst: small GGUF files of random decoders, with the logits of transformers on the dequantized
weights, in float32.

  make.py OUT [NAME...]      needs torch, transformers 5, safetensors and PyPI's gguf
"""
import math
import os
import sys
import warnings

import gguf
import numpy as np
import torch
import transformers
from gguf.constants import GGML_QUANT_SIZES
from gguf.constants import GGMLQuantizationType as Type
from safetensors.torch import save_file

warnings.filterwarnings("ignore")
VOCABULARY = 64
random = np.random.default_rng(0)


def random_blocks(rows, columns, kind):
    """Bytes of the k-quants, for which the library has no quantization: random codes with units of usual sizes."""
    elements, size = GGML_QUANT_SIZES[kind]
    raw = random.integers(0, 256, (rows * columns // elements, size), dtype=np.uint8)
    unit = {Type.Q4_K: (0, 1 / 240, 0.5), Type.Q5_K: (0, 1 / 480, 0.5), Type.Q6_K: (208, 1 / 2400, None)}[kind]
    at, scale, least = unit
    scale /= math.sqrt(columns)
    halves = random.uniform(scale / 2, scale, len(raw)).astype(np.float16)
    raw[:, at:at + 2] = halves.reshape(-1, 1).view(np.uint8)
    if least is not None:
        minima = (random.uniform(0.5, 1, len(raw)) * least / 16 / math.sqrt(columns)).astype(np.float16)
        raw[:, at + 2:at + 4] = minima.reshape(-1, 1).view(np.uint8)
    return raw.reshape(rows, -1)


class Writer:
    """Writes tensors in their types, and returns the numbers that they then have."""

    def __init__(self, path, architecture):
        self.file = gguf.GGUFWriter(path, architecture)
        self.architecture = architecture

    def key(self, name, value, kind):
        getattr(self.file, f"add_{kind}")(name.replace("*", self.architecture), value)

    def tensor(self, name, values, kind):
        values = np.ascontiguousarray(values.detach().float().numpy())
        if kind == Type.F32:
            self.file.add_tensor(name, values)
            return torch.from_numpy(values)
        shape = values.shape
        if kind in (Type.Q4_K, Type.Q5_K, Type.Q6_K):
            raw = random_blocks(int(np.prod(shape[:-1])), shape[-1], kind).reshape(*shape[:-1], -1)
        else:
            raw = gguf.quants.quantize(values, kind)
        self.file.add_tensor(name, raw, raw_dtype=kind)
        return torch.from_numpy(np.ascontiguousarray(gguf.quants.dequantize(raw, kind).astype(np.float32)).reshape(shape))

    def close(self):
        self.file.write_header_to_file()
        self.file.write_kv_data_to_file()
        self.file.write_tensors_to_file()
        self.file.close()


def alternate(weight, heads):
    """Rows of each head in the order of llama.cpp's converter for Llama: the halves alternate."""
    shape = weight.shape
    return weight.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).transpose(1, 2).reshape(shape)


def in_halves(weight, heads):
    shape = weight.shape
    return weight.reshape(heads, shape[0] // heads // 2, 2, *shape[1:]).transpose(1, 2).reshape(shape)


def identity(x):
    return x


# transformers' module to GGUF's tensor, in all architectures.
LAYER = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.qkv_proj": "attn_qkv", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.gate_up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
    "mlp.router": "ffn_gate_inp",
}
TOP = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


class Case:
    def __init__(self, name, architecture, config, types, keys=(), calls=((0, 12), (12, 13), (13, 14), (14, 20)), factors=None,
                 tokenizer=True):
        self.name, self.architecture, self.types, self.keys, self.calls, self.factors = name, architecture, types, keys, calls, factors
        self.config, self.tokenizer = config, tokenizer
        self.gemma = architecture.startswith("gemma")

    def kind(self, tensor):
        """The type of a tensor: that of the last pattern in it."""
        found = Type.F32
        for part, kind in self.types.items():
            if part in tensor:
                found = kind
        return found

    def names(self, parameter):
        module, leaf = parameter.rsplit(".", 1)
        if module in TOP:
            return f"{TOP[module]}.{leaf}"
        _, _, layer, rest = module.split(".", 3)
        tensor = LAYER[rest]
        if rest == "post_attention_layernorm" and (self.architecture in ("gemma2", "gemma3", "gpt-oss")):
            tensor = "post_attention_norm"
        return f"blk.{layer}.{tensor}.{leaf}"

    def forms(self, tensor):
        """To GGUF's order of rows and back."""
        c = self.config
        if self.architecture == "llama" and ".attn_q." in tensor:
            return (lambda w: alternate(w, c.num_attention_heads)), (lambda w: in_halves(w, c.num_attention_heads))
        if self.architecture == "llama" and ".attn_k." in tensor:
            return (lambda w: alternate(w, c.num_key_value_heads)), (lambda w: in_halves(w, c.num_key_value_heads))
        if self.gemma and "norm" in tensor:
            return (lambda w: w + 1), (lambda w: w - 1)
        return identity, identity

    def experts(self, writer, parameters, layer):
        """gpt-oss: the halves of one matrix alternate in transformers and are two tensors in GGUF."""
        module = f"model.layers.{layer}.mlp.experts."
        both, bias = parameters[module + "gate_up_proj"], parameters[module + "gate_up_proj_bias"]
        for half, tensor in ((0, "ffn_gate_exps"), (1, "ffn_up_exps")):
            name = f"blk.{layer}.{tensor}.weight"
            made = writer.tensor(name, both.data[..., half::2].transpose(1, 2), self.kind(name))
            both.data[..., half::2] = made.transpose(1, 2)
            writer.tensor(f"blk.{layer}.{tensor}.bias", bias.data[..., half::2], Type.F32)
        down = parameters[module + "down_proj"]
        name = f"blk.{layer}.ffn_down_exps.weight"
        down.data = writer.tensor(name, down.data.transpose(1, 2), self.kind(name)).transpose(1, 2).contiguous()
        writer.tensor(f"blk.{layer}.ffn_down_exps.bias", parameters[module + "down_proj_bias"].data, Type.F32)
        writer.tensor(f"blk.{layer}.attn_sinks.weight", parameters[f"model.layers.{layer}.self_attn.sinks"].data, Type.F32)

    def write_weights(self, writer, model):
        parameters = dict(model.named_parameters())
        for name, p in parameters.items():
            if ".experts." in name or name.endswith(".sinks") or (name == "lm_head.weight" and self.config.tie_word_embeddings):
                continue
            tensor = self.names(name)
            forward, back = self.forms(tensor)
            p.data = back(writer.tensor(tensor, forward(p.data), self.kind(tensor))).contiguous()
        if any(".experts." in name for name in parameters):
            for layer in range(self.config.num_hidden_layers):
                self.experts(writer, parameters, layer)
        for name, values in (self.factors or {}).items():
            writer.tensor(name, torch.tensor(values), Type.F32)

    def write_keys(self, writer):
        c = self.config
        writer.key("general.name", self.name, "string")
        for name, value in (("block_count", c.num_hidden_layers), ("context_length", c.max_position_embeddings),
                            ("embedding_length", c.hidden_size), ("feed_forward_length", c.intermediate_size),
                            ("attention.head_count", c.num_attention_heads), ("attention.head_count_kv", c.num_key_value_heads)):
            writer.key(f"*.{name}", value, "uint32")
        head = getattr(c, "head_dim", None)
        if head and head * c.num_attention_heads != c.hidden_size:
            writer.key("*.attention.key_length", head, "uint32")
            writer.key("*.attention.value_length", head, "uint32")
        writer.key("*.attention.layer_norm_rms_epsilon", c.rms_norm_eps, "float32")
        for name, value, kind in self.keys:
            writer.key(name, value, kind)

    def write_tokenizer(self, writer):
        """Letters that stand for bytes (GPT-2), two of them merged."""
        tokens = ["<|endoftext|>", "<|im_end|>", *"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZĠab"][:VOCABULARY - 1] + ["ab"]
        writer.key("tokenizer.ggml.model", "gpt2", "string")
        writer.key("tokenizer.ggml.pre", "smollm", "string")
        writer.file.add_array("tokenizer.ggml.tokens", tokens)
        writer.file.add_array("tokenizer.ggml.token_type", [3, 3] + [1] * (len(tokens) - 2))
        writer.file.add_array("tokenizer.ggml.merges", ["a b"])
        writer.key("tokenizer.ggml.bos_token_id", 0, "uint32")
        writer.key("tokenizer.ggml.eos_token_id", 1, "uint32")
        writer.key("tokenizer.chat_template", "{% for m in messages %}{{ m['content'] }}{% endfor %}", "string")

    def make(self, out):
        torch.manual_seed(1)
        model = transformers.AutoModelForCausalLM.from_config(self.config, attn_implementation="eager").eval().float()
        for name, p in model.named_parameters():
            scale = 0.3 if p.dim() < 2 else 1 / math.sqrt(p.shape[-2] if ".experts." in name and "bias" not in name else p.shape[-1])
            offset = 1 if "norm" in name and not self.gemma else 0
            p.data = torch.randn_like(p) * scale + offset
        writer = Writer(f"{out}/{self.name}.gguf", self.architecture)
        self.write_keys(writer)
        if self.tokenizer:
            self.write_tokenizer(writer)
        self.write_weights(writer, model)
        writer.close()
        model.tie_weights()
        length = self.calls[-1][1]
        tokens = torch.randint(0, VOCABULARY, (1, length))
        with torch.no_grad():
            logits = model(tokens, use_cache=False).logits.float()
        tensors = {}
        for i, (begin, end) in enumerate(self.calls):
            tensors[f"call{i}.in0"] = tokens[:, begin:end].contiguous()
            tensors[f"call{i}.in1"] = torch.tensor([begin])
            tensors[f"call{i}.out0"] = logits[:, begin:end].contiguous()
        largest = float(logits.abs().max())
        save_file(tensors, f"{out}/{self.name}.safetensors",
                  metadata={"op": "gguf " + self.architecture, "rtol": "1e-4", "atol": f"{2e-5 * largest:.3g}", "dtype": "f32"})
        print(self.name, f"largest logit {largest:.3g}, {os.path.getsize(f'{out}/{self.name}.gguf')} bytes")


def usual(**others):
    return {"vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2, "max_position_embeddings": 160, "rms_norm_eps": 1e-5, "tie_word_embeddings": True, **others}


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 40,
          "rope_theta": 10000.0}


def llama3_factors(dimensions):
    """The factors that llama.cpp's converter writes for Llama 3."""
    factors = []
    for i in range(dimensions // 2):
        length = 2 * math.pi * 10000.0 ** (2 * i / dimensions)
        low, high = 40 / LLAMA3["low_freq_factor"], 40 / LLAMA3["high_freq_factor"]
        if length < high:
            factors.append(1.0)
        elif length > low:
            factors.append(LLAMA3["factor"])
        else:
            smooth = (40 / length - 1) / 3
            factors.append(1 / ((1 - smooth) / LLAMA3["factor"] + smooth))
    return factors


def attention(kind):
    return {"attn_": kind, "attn_norm": Type.F32, "attn_q_norm": Type.F32, "attn_k_norm": Type.F32, "attn_sinks": Type.F32}


def all_of(kind, embedding=None):
    return {"ffn_": kind, **attention(kind), "token_embd": embedding or kind, "output.weight": embedding or kind, "norm": Type.F32,
            "bias": Type.F32}


T = transformers
LONG = ((0, 130), (130, 131), (131, 150))
WIDE = {"hidden_size": 256, "intermediate_size": 256, "num_attention_heads": 8, "num_key_value_heads": 2}
CASES = [
    Case("llama_f32", "llama", T.LlamaConfig(**usual()), {}, calls=LONG),
    Case("llama_f16", "llama", T.LlamaConfig(**usual(tie_word_embeddings=False)), all_of(Type.F16)),
    Case("llama_bf16", "llama", T.LlamaConfig(**usual()), all_of(Type.BF16)),
    Case("smollm_q4_1", "llama", T.LlamaConfig(**usual(rope_theta=100000.0)), all_of(Type.Q4_1, Type.Q8_0),
         [("*.rope.freq_base", 100000.0, "float32")]),
    Case("llama_q4_0", "llama", T.LlamaConfig(**usual()), all_of(Type.Q4_0)),
    Case("llama_q5_0", "llama", T.LlamaConfig(**usual()), all_of(Type.Q5_0)),
    Case("llama_q5_1", "llama", T.LlamaConfig(**usual()), all_of(Type.Q5_1)),
    Case("llama_mxfp4", "llama", T.LlamaConfig(**usual()), all_of(Type.MXFP4)),
    Case("llama_q4_k_m", "llama", T.LlamaConfig(**usual(**WIDE)),
         {**all_of(Type.Q4_K, Type.Q6_K), "attn_v": Type.Q6_K, "ffn_down": Type.Q6_K}),
    Case("llama_q5_k_m", "llama", T.LlamaConfig(**usual(**WIDE)),
         {**all_of(Type.Q5_K, Type.Q6_K), "attn_v": Type.Q6_K, "ffn_down": Type.Q6_K}),
    Case("llama3_rope", "llama", T.LlamaConfig(**usual(rope_parameters=LLAMA3)), all_of(Type.Q8_0),
         factors={"rope_freqs.weight": llama3_factors(16)}),
    Case("mistral_window", "llama", T.MistralConfig(**usual(sliding_window=16, head_dim=32)), all_of(Type.Q8_0),
         [("*.attention.sliding_window", 16, "uint32"), ("*.rope.dimension_count", 32, "uint32")], calls=((0, 30), (30, 31), (31, 40))),
    Case("qwen2_q4_0", "qwen2", T.Qwen2Config(**usual()), all_of(Type.Q4_0)),
    Case("qwen3_q8_0", "qwen3", T.Qwen3Config(**usual(head_dim=32)), all_of(Type.Q8_0)),
    Case("gemma_q8_0", "gemma", T.GemmaConfig(**usual(head_dim=32, num_key_value_heads=1)), all_of(Type.Q8_0)),
    Case("gemma2_q4_0", "gemma2", T.Gemma2Config(**usual(head_dim=32, sliding_window=16, query_pre_attn_scalar=32)), all_of(Type.Q4_0, Type.Q8_0),
         [("*.attention.sliding_window", 16, "uint32"), ("*.attn_logit_softcapping", 50.0, "float32"),
          ("*.final_logit_softcapping", 30.0, "float32")], calls=LONG),
    Case("gemma3_q4_0", "gemma3", T.Gemma3TextConfig(**usual(head_dim=32, sliding_window=16, num_hidden_layers=7, query_pre_attn_scalar=32,
                                                             rope_parameters={
                                                                 "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
                                                                 "full_attention": {"rope_type": "linear", "factor": 8.0,
                                                                                    "rope_theta": 1000000.0}})),
         all_of(Type.Q4_0, Type.Q8_0),
         [("*.attention.sliding_window", 16, "uint32"), ("*.rope.freq_base", 1000000.0, "float32"), ("*.rope.scaling.type", "linear", "string"),
          ("*.rope.scaling.factor", 8.0, "float32")], calls=((0, 30), (30, 31), (31, 40))),
    Case("phi3_q4_0", "phi3", T.Phi3Config(**usual(pad_token_id=0)), all_of(Type.Q4_0)),
    Case("phi4_longrope", "phi3", T.Phi3Config(**usual(
        pad_token_id=0, head_dim=16, original_max_position_embeddings=40, rope_parameters={
            "rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.75, "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5],
            "long_factor": [1.0, 1.5, 2.0, 2.5, 3.0, 3.5], "factor": 4.0, "original_max_position_embeddings": 40})),
         all_of(Type.Q8_0),
         [("*.rope.dimension_count", 12, "uint32"), ("*.rope.scaling.original_context_length", 40, "uint32"),
          ("*.rope.scaling.attn_factor", math.sqrt(1 + math.log(4) / math.log(40)), "float32")],
         factors={"rope_factors_short.weight": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5], "rope_factors_long.weight": [1.0, 1.5, 2.0, 2.5, 3.0, 3.5]},
         calls=((0, 50), (50, 51))),
    Case("gpt_oss_mxfp4", "gpt-oss", T.GptOssConfig(**usual(
        head_dim=32, intermediate_size=64, num_local_experts=4, num_experts_per_tok=2, sliding_window=16, tie_word_embeddings=False,
        rope_parameters={"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
                         "original_max_position_embeddings": 40, "rope_theta": 150000.0})),
         {**all_of(Type.Q8_0), "_exps": Type.MXFP4, "ffn_gate_inp": Type.F32, "bias": Type.F32, "ffn_norm": Type.F32},
         [("*.attention.sliding_window", 16, "uint32"), ("*.expert_count", 4, "uint32"), ("*.expert_used_count", 2, "uint32"),
          ("*.rope.freq_base", 150000.0, "float32"), ("*.rope.scaling.type", "yarn", "string"), ("*.rope.scaling.factor", 32.0, "float32"),
          ("*.rope.scaling.original_context_length", 40, "uint32")], calls=LONG),
]

if __name__ == "__main__":
    folder, wanted = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    for case in CASES:
        if not wanted or case.name in wanted:
            case.make(folder)
