"""export(): a PyTorch program becomes an archive."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from tern import _tern
from tern._calibration import calibration_files
from tern._capture import capture
from tern._describe import describe
from tern._flex_attention import with_plain_attention
from tern._report import ExportReport, export_report
from tern._words import text, words

if TYPE_CHECKING:
    from tern._programs import ExportedProgram, Module


def parameter_rules(option, rules_by_name):
    """Rules of --params and --step: {'norm*|*.bias': {'weight_decay': 0}} is 'norm*|*.bias: weight-decay=0'. Text stays."""
    if not isinstance(rules_by_name, Mapping):
        return rules_by_name
    rules = []
    for selector, settings in rules_by_name.items():
        if not isinstance(settings, Mapping):
            raise TypeError(f"{option}['{selector}'] takes a dictionary of settings, not a {describe(settings)}")
        parts = []
        for key, value in settings.items():
            name = key.replace("_", "-")
            if isinstance(value, bool):
                parts.append(f"{name}={'yes' if value else 'no'}")
            elif isinstance(value, (list, tuple)):
                parts.append(f"{name}=" + "/".join(text(name, item) for item in value))
            else:
                parts.append(f"{name}={text(name, value)}")
        rules.append(f"{selector}: {', '.join(parts)}")
    return rules


@contextmanager
def pt2_file(program):
    """The path of a .pt2 file: `program` itself, or where its bytes or a torch.export.ExportedProgram are stored meanwhile."""
    if isinstance(program, (str, os.PathLike)):
        yield os.fspath(program)
        return
    import tempfile

    if hasattr(program, "read") or isinstance(program, (bytes, bytearray, memoryview)):
        with tempfile.TemporaryDirectory(prefix="tern-") as folder:
            path = os.path.join(folder, "program.pt2")
            with open(path, "wb") as file:
                file.write(program.read() if hasattr(program, "read") else program)
            yield path
        return
    if not hasattr(program, "graph_signature"):
        raise TypeError(
            f"a {describe(program)} is not a program: pass a torch.nn.Module with args=(...), "
            "torch.export.export(model, args), or the path of a .pt2 file"
        )
    with tempfile.TemporaryDirectory(prefix="tern-") as folder:
        path = os.path.join(folder, "program.pt2")
        import_module("torch").export.save(with_plain_attention(program), path)
        yield path


def export(
    program: ExportedProgram | Module | str | os.PathLike[str] | bytes | IO[bytes],
    path: str | os.PathLike[str],
    *,
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    quantize: str | Sequence[str] | None = None,
    group: int | None = None,
    rule: str | None = None,
    awq: bool = False,
    scales: str | None = None,
    mx_scales: str | None = None,
    activations: str | None = None,
    calibrate: str | os.PathLike[str] | Mapping[str, Any] | Iterable[Any] | None = None,
    target_sqnr: float | None = None,
    bits: float | None = None,
    function: str | None = None,
    report: str | os.PathLike[str] | None = None,
    precision: str | None = None,
    keep: str | Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    tune: bool = False,
    tune_seconds: float | None = None,
    size: Mapping[str, int | Sequence[int]] | None = None,
    name_size: Mapping[str, str] | None = None,
    annotate: Mapping[str, Mapping[str, Any]] | None = None,
    compress: str | None = None,
    train: bool | Mapping[str, Any] | None = False,
    llm: bool | Mapping[str, Any] | None = False,
    embeddings: bool | Mapping[str, Any] | None = False,
    tokenizer: str | os.PathLike[str] | None = None,
    fold: bool = True,
    origins: bool = True,
    custom_ops: bool = False,
    ignore_guard: str | Sequence[str] | None = None,
    unchecked_guards: bool = False,
    verify: bool = False,
) -> ExportReport:
    """Turns a PyTorch program into an archive at `path`. Returns an ExportReport: sizes, nodes, errors of quantized weights.

    program      a torch.export.ExportedProgram; or a .pt2 file, for which torch is not needed: its path, its bytes, or a
                 binary file; or a torch.nn.Module, with args
    args, kwargs, dynamic_shapes
                 examples of a module's arguments, and its sizes that vary: capture() says more
    quantize     formats of weights: 'int4', ['int4', 'int8:lm_head']; with target_sqnr or bits a choice:
                 'mxfp4,int4,int8'
    group, rule, scales, mx_scales, activations
                 how they are quantized: 32; 'search', 'torchao' or 'gptq'; 'bfloat16', for int4; 'floor', 'even' or
                 'ceil'; 'int8', 'float8' or 'mx'
    calibrate    inputs that weigh the errors of weights and on which errors are measured; target_sqnr in dB, or bits for
                 each number, chooses formats by them: files and folders, or samples in memory, in a list or generator.
                 A sample is a dictionary of arrays by input names, a tuple of arrays by place, or the array of a
                 program with one input
    awq          with calibrate: scales columns with large inputs, which preceding norms and products absorb
    report       an .svg file for a chart of the errors
    precision    'bfloat16' or 'float16' for weights that only products read
    keep         patterns of nodes that precision and quantize leave as they are
    target       'cpu' stores packed weights; 'xpu:spirv', 'cuda:sm_90', ... compiled kernels
    tune         with target='cpu': measures algorithms on this machine, for tune_seconds
    size         values of symbolic sizes that target and tune plan for: {'batch': 8}
    name_size    new names of symbolic sizes: {'s77': 'batch'}
    annotate     notes on nodes: {'encoder.*': {'stage': 1}}
    compress     'zstd' or 'zstd:LEVEL'
    train        True, or options of training: {'loss': 'cross_entropy', 'optimizer': 'adamw', 'lr': 1e-3,
                 'params': {'norm*|*.bias': {'weight_decay': 0}, 'lm_head': {'lr': '0.1x'}}}; params are parameter groups;
                 'step': {'critic': {'loss': 1, 'trains': 'critic|trunk', 'lr': 1e-3}, ...} makes several steps
    llm          True, or options of a decoder with a static cache, which then generates tokens (docs/generate.md):
                 {'bos': 1, 'eos': [2, 7], 'token_ids': 'generation_config.json', 'batch': 8}; export_llm() takes
                 transformers' models
    embeddings   True, or options of an encoder, which then turns texts into vectors (docs/embeddings.md):
                 {'context': 256, 'matryoshka': True}; export_embeddings() takes transformers' models
    tokenizer    a folder with tokenizer.json or tokenizer.model, or such a file, that the archive carries
    ignore_guard relations between sizes to leave out: ['k != 1']
    fold, origins, custom_ops, unchecked_guards, verify
                 fold constants; keep module paths and Python lines; keep unknown operators; check what was written

    'tern help export' says more of each. Raises tern.Error, with the exporter's messages: Unsupported lists all
    operators that Tern does not have.
    """
    import json

    if args is not None:
        program = capture(program, args, kwargs, dynamic_shapes=dynamic_shapes)
    elif kwargs is not None or dynamic_shapes is not None:
        raise TypeError("kwargs and dynamic_shapes belong to a module: pass args=(...), too")
    if isinstance(target, (list, tuple)):
        target = ",".join(text("target", item) for item in target)
    options: dict[str, Any] = {
        "compress": compress,
        "target": target,
        "tune": tune,
        "tune_seconds": tune_seconds,
        "precision": precision,
        "quantize": quantize,
        "group": group,
        "rule": rule,
        "awq": awq,
        "scales": scales,
        "mx_scales": mx_scales,
        "activations": activations,
        "target_sqnr": target_sqnr,
        "bits": bits,
        "function": function,
        "report": report,
        "keep": keep,
        "size": size,
        "name_size": name_size,
        "tokenizer": None if tokenizer is None else os.fspath(tokenizer),
        "custom_ops": custom_ops,
        "ignore_guard": ignore_guard,
        "unchecked_guards": unchecked_guards,
        "no_fold": not fold,
        "no_origins": not origins,
        "verify": verify,
    }
    if train is not None and train is not False:
        options["train"] = True
        options.update(train if isinstance(train, Mapping) else {})
        for name in ("params", "step"):
            options[name] = parameter_rules(name, options.get(name))
    if embeddings is not None and embeddings is not False:
        options["embeddings"] = True
        options.update(embeddings if isinstance(embeddings, Mapping) else {})
    if llm is not None and llm is not False:
        options["llm"] = True
        for name, value in (llm if isinstance(llm, Mapping) else {}).items():
            several = isinstance(value, (list, tuple))
            options[name] = (",".join(text(name, item) for item in value) or None) if several else value
    command = ["export", "--output", os.fspath(path), "--json", *words(options)]
    for pattern, notes in (annotate or {}).items():
        for key, value in notes.items():
            note = str(value).lower() if isinstance(value, bool) else text(f"annotate['{pattern}']", value)
            command += ["--annotate", pattern, f"{key}={note}"]
    with calibration_files(calibrate) as files, pt2_file(program) as file:
        command += words({"calibrate": files})
        status, output = _tern._run([*command, "--", file])
    if status != 0:
        from tern._errors import InvalidArgument

        raise InvalidArgument(output.removeprefix("tern: ").strip())
    return export_report(json.loads(output))
