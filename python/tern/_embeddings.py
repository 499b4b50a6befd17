"""export_embeddings(): an encoder becomes an archive that turns texts into vectors."""

from __future__ import annotations

import json
import os
from importlib import import_module
from operator import index
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tern._programs import ExportedProgram, PreTrainedModel
    from tern._report import ExportReport

POOLINGS = ("mean", "cls", "last", "max", "sqrt_mean")

# Names of sentence-transformers' 1_Pooling/config.json; newer files have `pooling_mode`.
_MODES = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "sqrt_mean",
}
_NEW_MODES = {"mean": "mean", "cls": "cls", "lasttoken": "last", "max": "max", "mean_sqrt_len_tokens": "sqrt_mean"}
# Last parts of the modules' names, whose folders differ between versions of sentence-transformers.
_KNOWN = ("Transformer", "Pooling", "Normalize", "Dense")


def _read(folder, *names):
    """The JSON of a file, or None."""
    path = os.path.join(folder, *names)
    if not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _pooling(config, folder):
    names = [name for key, name in _MODES.items() if config.get(key)]
    mode = config.get("pooling_mode")
    if mode is not None:
        modes = [mode] if isinstance(mode, str) else list(mode)
        names = [_NEW_MODES.get(name, name) for name in modes]
    if len(names) != 1 or names[0] not in POOLINGS:
        raise ValueError(f"the pooling of {folder} is {' and '.join(names) or 'unknown'}; known are {', '.join(POOLINGS)}")
    return names[0]


def _settings(folder):
    """What modules.json and its files say: pooling, normalization, layers behind the pooling, most tokens, cuts."""
    settings: dict[str, Any] = {"pooling": None, "normalize": None, "dense": [], "context": None, "matryoshka": False}
    config = _read(folder, "config.json") or {}
    settings["matryoshka"] = bool(config.get("is_matryoshka") or config.get("matryoshka_dimensions"))
    modules = _read(folder, "modules.json")
    if modules is None:
        return settings
    settings["normalize"] = False
    for module in sorted(modules, key=lambda m: m["idx"]):
        kind = module["type"].rsplit(".", 1)[-1]
        if kind not in _KNOWN:
            raise ValueError(f"modules.json has a {module['type']}, which export_embeddings() does not know")
        place = os.path.join(folder, module["path"]) if module["path"] else folder
        if kind == "Transformer":
            for name in ("sentence_bert_config.json", "sentence_roberta_config.json"):
                settings["context"] = settings["context"] or (_read(place, name) or {}).get("max_seq_length")
        elif kind == "Pooling":
            settings["pooling"] = _pooling(_read(place, "config.json") or {}, folder)
        elif kind == "Normalize":
            settings["normalize"] = True
        else:
            settings["dense"].append(place)
    return settings


def _dense(folder):
    """A Dense module of sentence-transformers."""
    torch = import_module("torch")
    config = _read(folder, "config.json")
    if config is None:
        raise ValueError(f"{folder} has no config.json")
    linear = torch.nn.Linear(config["in_features"], config["out_features"], bias=config.get("bias", True))
    weights = os.path.join(folder, "model.safetensors")
    if os.path.isfile(weights):
        state = import_module("safetensors.torch").load_file(weights)
    else:
        state = torch.load(os.path.join(folder, "pytorch_model.bin"), weights_only=True)
    linear.load_state_dict({name.removeprefix("linear."): tensor for name, tensor in state.items()})
    activation = config.get("activation_function", "torch.nn.modules.activation.Tanh").rsplit(".", 1)[-1]
    if activation not in ("Tanh", "Identity", "ReLU", "GELU"):
        raise ValueError(f"{folder} has the activation {activation}; known are Tanh, Identity, ReLU and GELU")
    return torch.nn.Sequential(linear, getattr(torch.nn, activation)())


def _embedder(model, pooling, normalize, dense):
    """(tokens [t, n], lengths [t]) -> [t, dimensions]."""
    torch = import_module("torch")
    padding = getattr(model.config, "pad_token_id", None) or 0
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config

    class Embedder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model
            self.dense = torch.nn.ModuleList(dense)

        def forward(self, tokens, lengths):
            seen = torch.arange(tokens.shape[1])[None] < lengths[:, None]
            tokens = torch.where(seen, tokens, padding)
            more = {"use_cache": False} if getattr(config, "use_cache", False) else {}
            hidden = self.model(input_ids=tokens, attention_mask=seen.to(torch.int64), **more).last_hidden_state
            hidden = hidden.float()
            weights = seen[:, :, None].to(hidden.dtype)
            if pooling == "cls":
                vectors = hidden[:, 0]
            elif pooling == "last":
                vectors = hidden.gather(1, (lengths - 1)[:, None, None].expand(-1, 1, hidden.shape[2]))[:, 0]
            elif pooling == "max":
                vectors = hidden.masked_fill(~seen[:, :, None], -1e9).amax(1)
            else:
                counts = lengths[:, None].to(hidden.dtype)
                vectors = (hidden * weights).sum(1) / (counts.sqrt() if pooling == "sqrt_mean" else counts)
            for layer in self.dense:
                vectors = layer(vectors)
            return torch.nn.functional.normalize(vectors, dim=1) if normalize else vectors

    return Embedder().eval()


def _check(embedder, exported, context):
    """Refuses a program whose vectors depend on padding or on other texts, or differ from the model's own."""
    torch = import_module("torch")
    n = min(context, 12)
    vocabulary = embedder.model.config.get_text_config().vocab_size
    tokens = torch.arange(3 * n).reshape(3, n) * 7919 % vocabulary
    lengths = torch.tensor([n, max(1, n // 2), 1])
    found = exported.module()(tokens, lengths).double()
    for row, length in enumerate(lengths.tolist()):
        right = embedder(tokens[row : row + 1, :length], lengths[row : row + 1]).double()[0]
        error = float((found[row] - right).norm() / right.norm())
        if not error < (1e-3 if embedder.model.dtype == torch.float32 else 0.1):
            raise ValueError(
                f"the vectors of the exported {type(embedder.model).__name__} differ from the model's by {error:.1e} of their size"
            )


def _longest(model, context):
    """Most tokens of a text. Raises ValueError if `context` is above the model's positions."""
    config = model.config.get_text_config()
    longest = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 8192
    if getattr(config, "position_embedding_type", "absolute") == "absolute" and type(model).__name__.startswith(
        ("Roberta", "XLMRoberta", "Camembert", "MPNet", "Longformer", "Data2VecText")
    ):
        longest -= (getattr(config, "pad_token_id", None) or 0) + 1  # positions begin behind the padding's
    if context is not None and (index(context) < 1 or index(context) > longest):
        raise ValueError(f"context: {context} is not from 1 to {longest}, the positions of the model")
    return longest if context is None else index(context)


def embedding_program(
    model: PreTrainedModel, *, pooling: str, normalize: bool = True, context: int | None = None, dense: Any = ()
) -> ExportedProgram:
    """A transformers encoder or decoder as a program (tokens int64[t, n], lengths int64[t]) -> float32[t, dimensions],
    which 'tern export --embeddings' takes. Raises ValueError if PyTorch exports it wrongly."""
    torch = import_module("torch")
    from tern._llm import _masks_without_vmap, _ready

    if pooling not in POOLINGS:
        raise ValueError(f"pooling: '{pooling}' is not one of {', '.join(POOLINGS)}")
    longest = _longest(model, context)
    embedder = _embedder(model, pooling, normalize, dense)
    tokens, lengths = torch.full((2, min(8, longest)), 3), torch.tensor([min(8, longest), 1])
    texts, count = torch.export.Dim("texts", max=65536), torch.export.Dim("tokens", max=longest)
    with _ready(model), _masks_without_vmap(), torch.no_grad():
        shapes = ({0: texts, 1: count}, {0: texts})
        exported = torch.export.export(embedder, (tokens, lengths), dynamic_shapes=shapes, strict=False)
    with _ready(model), torch.no_grad():
        _check(embedder, exported, longest)
    return exported


def _load(folder):
    """The model of a folder of transformers or sentence-transformers, without a head."""
    transformers = import_module("transformers")
    settings = _settings(folder)
    model = transformers.AutoModel.from_pretrained(folder, local_files_only=True)
    if getattr(model.config, "is_encoder_decoder", False):
        if not hasattr(model, "get_encoder"):
            raise ValueError(f"{folder} has a {type(model).__name__}, which has no encoder")
        model = model.get_encoder()
    settings["dense"] = [_dense(place) for place in settings["dense"]]
    return model, settings


def _complete(model, settings, pooling, normalize, context):
    """Options, then the folder's settings, then defaults."""
    pooling = pooling or settings["pooling"]
    if pooling is None:
        raise ValueError(
            "the folder has no modules.json, which says how tokens become one vector: pass pooling='mean', 'cls' or 'last' "
            "(--pooling), as the model's description says"
        )
    if normalize is None:
        normalize = True if settings["normalize"] is None else settings["normalize"]
    if context is None and settings["context"]:
        context = min(settings["context"], _longest(model, None))
    return {"pooling": pooling, "normalize": normalize, "context": context, "dense": settings["dense"]}


def export_embeddings(
    model: PreTrainedModel | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    pooling: str | None = None,
    normalize: bool | None = None,
    context: int | None = None,
    matryoshka: bool | None = None,
    **options: Any,
) -> ExportReport:
    """Makes an archive that turns texts into vectors, of an encoder or decoder of transformers, or of a folder with one,
    such as sentence-transformers saves. Returns the ExportReport of export().

    pooling      'mean', 'cls' (the first token), 'last', 'max' or 'sqrt_mean'; default: as the folder's modules.json says
    normalize    vectors of length 1; default: as modules.json says, else True
    context      limit of a text's tokens; default: as the folder says, else the positions of the model
    matryoshka   the first numbers of a vector are an embedding, too; default: as config.json says
    options      as for export(): quantize='int8', precision='bfloat16', ...; tokenizer is the folder's

    The archive has the function embed, which docs/embeddings.md explains.
    """
    from tern._export import export

    settings: dict[str, Any] = {"pooling": None, "normalize": None, "dense": [], "context": None, "matryoshka": False}
    if isinstance(model, (str, os.PathLike)):
        folder = os.fspath(model)
        model, settings = _load(folder)
        if "tokenizer" not in options and any(os.path.isfile(os.path.join(folder, n)) for n in ("tokenizer.json", "tokenizer.model")):
            options["tokenizer"] = folder
    complete = _complete(model, settings, pooling, normalize, context)
    cuts = settings["matryoshka"] if matryoshka is None else matryoshka
    return export(embedding_program(model, **complete), path, embeddings={"matryoshka": cuts}, **options)


def save_embedder(folder: str, program: str, pooling: str | None, context: int | None) -> tuple[list[list[str]], str]:
    """Saves the program of a folder's encoder as a .pt2 file. Returns the options of `tern export --embeddings` for it,
    and a name for the archive."""
    torch = import_module("torch")
    model, settings = _load(folder)
    complete = _complete(model, settings, pooling, None, context)
    torch.export.save(embedding_program(model, **complete), program)
    options = [["--matryoshka"]] if settings["matryoshka"] else []
    if any(os.path.isfile(os.path.join(folder, name)) for name in ("tokenizer.json", "tokenizer.model")):
        options += [["--tokenizer", folder]]
    return options, os.path.basename(os.path.abspath(folder)) + ".tern"
