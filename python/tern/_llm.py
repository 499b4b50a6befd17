"""export_llm(): a transformers decoder becomes an archive that generates tokens."""

from __future__ import annotations

import os
from contextlib import contextmanager
from importlib import import_module
from inspect import signature
from operator import index
from typing import TYPE_CHECKING, Any

from tern._describe import describe

if TYPE_CHECKING:
    from tern._programs import ExportedProgram, PreTrainedModel
    from tern._report import ExportReport


def _accepted(model):
    """Names of the arguments that a model's forward takes."""
    forward = getattr(type(model).forward, "__wrapped__", type(model).forward)
    return set(signature(type(model).forward).parameters) | set(signature(forward).parameters)


def _static_cache(config, slots):
    """transformers' StaticCache whose layers all keep `slots` positions. A sliding window is then the mask's work alone,
    so positions beyond the window are right."""
    cache_utils = import_module("transformers.cache_utils")

    cache = cache_utils.StaticCache(config=config, max_cache_len=slots)
    for i, layer in enumerate(cache.layers):
        if type(layer) is getattr(cache_utils, "StaticSlidingWindowLayer", None):
            cache.layers[i] = cache_utils.StaticLayer(slots)
        elif type(layer) is getattr(cache_utils, "DummyLayer", None):  # reads another layer's keys and values
            cache.layers[i] = cache_utils.StaticLayer(0)
        elif type(layer) is not cache_utils.StaticLayer:
            raise ValueError(
                f"layer {i} keeps a {type(layer).__name__}: only decoders whose layers all keep keys and values can be exported"
            )
    return cache


def _decoder(model, slots, mask):
    """(tokens [1, n], position [1]) -> logits of all tokens, for verify; the exporter drops most of them from prefill.
    The cache is in buffers. `mask`: the
    model is told that no slot is padding, which some make a mask of themselves, of a length that export cannot follow."""
    torch = import_module("torch")
    config = model.config.get_text_config(decoder=True)
    accepted = _accepted(model)
    cache_name = "cache" if "cache" in accepted else "past_key_values"
    if cache_name not in accepted:
        raise ValueError(f"{type(model).__name__}.forward does not take a cache")

    def call(tokens, position, cache):
        more: dict[str, Any] = {cache_name: cache, "use_cache": True}
        positions = position + torch.arange(tokens.shape[1])
        if "cache_position" in accepted:
            more["cache_position"] = positions
        if "position_ids" in accepted:
            more["position_ids"] = positions[None]
        if mask:
            more["attention_mask"] = torch.ones(1, slots, dtype=torch.int64)
        return model(input_ids=tokens, **more).logits

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model
            self.cache = _static_cache(config, slots)
            with torch.no_grad():  # gives the buffers their shapes, whatever the attention
                call(torch.zeros(1, 2, dtype=torch.int64), torch.zeros(1, dtype=torch.int64), self.cache)
            self.filled = [i for i, layer in enumerate(self.cache.layers) if layer.is_initialized]
            for i in self.filled:
                self.register_buffer(f"keys_{i}", torch.zeros_like(self.cache.layers[i].keys))
                self.register_buffer(f"values_{i}", torch.zeros_like(self.cache.layers[i].values))

        def forward(self, tokens, position):
            for i in self.filled:
                layer = self.cache.layers[i]
                layer.keys, layer.values = getattr(self, f"keys_{i}"), getattr(self, f"values_{i}")
                if hasattr(layer, "cumulative_length"):
                    layer.cumulative_length = position[0].clone()
            return call(tokens, position, self.cache)

    return Decoder().eval()


@contextmanager
def _ready(model):
    """The model in evaluation mode and without gradients; as it was, afterwards."""
    training, wanted = model.training, [p for p in model.parameters() if p.requires_grad]
    try:
        model.eval()
        for p in wanted:
            p.requires_grad_(False)
        yield
    finally:
        model.train(training)
        for p in wanted:
            p.requires_grad_(True)


def _mask(batch_size, cache_position, kv_length, kv_offset=0, mask_function=None, attention_mask=None, **_):
    """transformers 4's sdpa_mask: true where a token [batch, 1, tokens, positions] is seen. mask_function tells it of
    numbers, and of tensors of them too."""
    torch, masking_utils = import_module("torch"), import_module("transformers.masking_utils")
    seen = mask_function or masking_utils.causal_mask_function
    padding = masking_utils.prepare_padding_mask(attention_mask, kv_length, kv_offset)
    if padding is not None:
        seen = masking_utils.and_masks(seen, masking_utils.padding_mask_function(padding))
    device = cache_position.device
    batch = torch.arange(batch_size, device=device).view(-1, 1, 1, 1)
    head = torch.zeros(1, 1, 1, 1, dtype=torch.int64, device=device)
    positions = torch.arange(kv_length, device=device).view(1, 1, 1, -1) + kv_offset
    mask = seen(batch, head, cache_position.view(1, 1, -1, 1), positions)
    return mask.expand(batch_size, 1, cache_position.shape[0], kv_length)


@contextmanager
def _masks_without_vmap():
    """transformers 4 makes masks by vmap, which torch.export.save cannot write. What it has for export instead gives the
    sliding window of some layers to all of them; transformers 5 needs no vmap."""
    try:
        import_module("transformers.integrations.executorch").sdpa_mask_without_vmap  # noqa: B018  transformers 4 has it
        masks = import_module("transformers.masking_utils").ALL_MASK_ATTENTION_FUNCTIONS
    except (ImportError, AttributeError):
        yield
        return
    before = masks["sdpa"]
    masks["sdpa"] = _mask
    try:
        yield
    finally:
        masks["sdpa"] = before


def _token_ids(model, name):
    """[2] of the generation configuration, or of the model's."""
    for config in (getattr(model, "generation_config", None), model.config.get_text_config(decoder=True)):
        ids = getattr(config, name, None)
        if ids is not None:
            return list(ids) if isinstance(ids, (list, tuple)) else [ids]
    return []


def _check(model, exported, context):
    """Refuses a program whose logits are not the model's own, without a cache: of a text that is read in two parts."""
    torch = import_module("torch")
    n = min(context, 24)
    tokens = (torch.arange(n) * 7919 % model.config.get_text_config(decoder=True).vocab_size)[None]
    right = model(input_ids=tokens, use_cache=False).logits[0, -1].double()
    step = exported.module()
    for begin, end in ((0, n // 2), (n // 2, n)):
        logits = step(tokens[:, begin:end], torch.tensor([begin]))[0, -1].double()
    for name, tensor in exported.state_dict.items():  # shared by the module: the archive begins with an empty cache
        if name.startswith(("keys_", "values_")):
            tensor.zero_()
    error = float((logits - right).norm() / right.norm())
    if not error < (1e-3 if model.dtype == torch.float32 else 0.1):
        raise ValueError(
            f"the logits of the exported {type(model).__name__} differ from the model's by {error:.1e} of their size: "
            "PyTorch or transformers exports it wrongly"
        )


def _refuse_others(model):
    """Classifiers, encoders and pairs of encoder and decoder have another export."""
    name = type(model).__name__
    other = (
        f"tern.export(torch.export.export(model, args), path) takes a {name}, or 'tern export' its .pt2 file "
        "(docs/tutorial.md)"
    )
    if getattr(model.config, "is_encoder_decoder", False):
        raise ValueError(f"export_llm() takes decoders alone, and a {name} has an encoder; {other}")
    generates = getattr(model, "can_generate", None)
    if generates is not None and not generates():
        raise ValueError(
            f"export_llm() takes a decoder with a language model head, and a {name} generates no tokens; {other}; if the "
            "checkpoint is a language model, load it by transformers.AutoModelForCausalLM"
        )
    if not {"cache", "past_key_values"} & _accepted(model):
        raise ValueError(f"export_llm() takes a decoder with a cache, and {name}.forward does not take one; {other}")


def decoder_program(model: PreTrainedModel, context: int) -> ExportedProgram:
    """A transformers decoder as a program with a static key/value cache of `context` positions in its buffers:
    (tokens int64[1, n], position int64[1]) -> logits [1, rows, vocabulary], those of the last token last.
    `tern export --llm` takes such a program. Raises ValueError if the model has another cache, or is exported wrongly."""
    torch = import_module("torch")
    unguarded = import_module("torch.fx.experimental.symbolic_shapes").GuardOnDataDependentSymNode

    def program(mask):
        n = torch.export.Dim.DYNAMIC(min=1, max=context)
        tokens = torch.zeros(1, min(7, context), dtype=torch.int64)
        position = torch.zeros(1, dtype=torch.int64)
        return torch.export.export(
            _decoder(model, context, mask), (tokens, position), dynamic_shapes=({1: n}, None), strict=False
        )

    with _ready(model), _masks_without_vmap(), torch.no_grad():
        try:
            exported = program(mask=False)
        except unguarded:
            exported = program(mask=True)
    with _ready(model), torch.no_grad():  # the model's own masks
        _check(model, exported, context)
    return exported


def export_llm(
    model: PreTrainedModel,
    path: str | os.PathLike[str],
    *,
    context: int | None = None,
    batch: int | None = None,
    **options: Any,
) -> ExportReport:
    """Makes an archive that generates tokens of a transformers decoder (LlamaForCausalLM and the like). Returns the
    ExportReport of export().

    context      positions of the key/value cache: the longest prompt and answer together. Default: the model's
                 max_position_embeddings, but at most 4096
    batch        slots for texts that one run of decode advances together, each with a cache of its own; default: one text
    options      as for export(): quantize='int4', precision='bfloat16', target='cpu', ...

    The archive has the functions prefill and decode, which docs/generate.md explains. The ids of the tokens that begin
    and end a text come from the model's generation configuration.
    """
    from tern._export import export

    if not hasattr(model, "config"):
        raise TypeError(f"export_llm() takes a decoder of transformers, not a {describe(model)}")
    _refuse_others(model)
    context = _context(model, context)
    llm = {"context": context, "bos": _token_ids(model, "bos_token_id")[:1], "eos": _token_ids(model, "eos_token_id")}
    llm["batch"] = batch
    return export(decoder_program(model, context), path, llm=llm, **options)


def _context(model, context):
    """The number of positions of the cache. Raises ValueError if the model has fewer."""
    config = model.config.get_text_config(decoder=True)
    longest = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    context = min(longest or 4096, 4096) if context is None else index(context)
    if context < 2 or (longest and context > longest):
        raise ValueError(f"context: {context} is not from 2 to {longest or 'any number'}, the positions of the model")
    return context


def save_decoder(folder: str, program: str, context: int | None) -> tuple[list[list[str]], str]:
    """Loads the decoder of a folder with config.json and weights, and saves its program as a .pt2 file. Returns the
    options of `tern export --llm` for it, and a name for the archive."""
    transformers, torch = import_module("transformers"), import_module("torch")
    heads = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
    saved = transformers.AutoConfig.from_pretrained(folder, local_files_only=True).architectures
    if saved and not any(name.endswith(heads) for name in saved):
        raise ValueError(
            f"--llm takes decoders with a language model head, and the folder has a {saved[0]}: load it in Python, and "
            "give 'tern export' the .pt2 file of torch.export.save(torch.export.export(model, args)) (docs/tutorial.md)"
        )
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    _refuse_others(model)
    context = _context(model, context)
    torch.export.save(decoder_program(model, context), program)
    options = [["--context", str(context)]]
    for name, ids in (("--bos", _token_ids(model, "bos_token_id")[:1]), ("--eos", _token_ids(model, "eos_token_id"))):
        options += [[name, ",".join(map(str, ids))]] if ids else []
    if any(os.path.isfile(os.path.join(folder, name)) for name in ("tokenizer.json", "tokenizer.model")):
        options += [["--tokenizer", folder]]
    return options, os.path.basename(os.path.abspath(folder)) + ".tern"
