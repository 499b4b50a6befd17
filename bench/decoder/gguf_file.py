"""The decoder as a GGUF file for llama.cpp, every matrix in one type."""
import gguf
import torch

from . import model

NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}


def _name(of):
    """llama.cpp's name of a parameter."""
    if of == "model.embed_tokens.weight":
        return "token_embd.weight"
    if of == "model.norm.weight":
        return "output_norm.weight"
    _, _, layer, *module, kind = of.split(".")
    return f"blk.{layer}.{NAMES['.'.join(module)]}.{kind}"


def write(path, form):
    form, c = gguf.GGMLQuantizationType[form], model.CONFIG
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_block_count(c["num_hidden_layers"])
    writer.add_context_length(c["max_position_embeddings"])
    writer.add_embedding_length(c["hidden_size"])
    writer.add_feed_forward_length(c["intermediate_size"])
    writer.add_head_count(c["num_attention_heads"])
    writer.add_head_count_kv(c["num_key_value_heads"])
    writer.add_rope_freq_base(c["rope_theta"])
    writer.add_layer_norm_rms_eps(c["rms_norm_eps"])
    writer.add_vocab_size(c["vocab_size"])
    writer.add_tokenizer_model("none")
    for name, x in model.decoder(torch.float32).named_parameters():
        numbers = x.numpy()
        if x.dim() == 2:
            writer.add_tensor(_name(name), gguf.quants.quantize(numbers, form), raw_dtype=form)
        else:
            writer.add_tensor(_name(name), numbers)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
