"""Runs exported PyTorch programs: tern.export() makes archives, tern.load() runs them.

    import numpy, tern

    tern.export("digits.pt2", "digits.tern")       # or a torch.export.ExportedProgram
    model = tern.load("digits.tern")
    logits = model(numpy.zeros((2, 1, 8, 8), "float32")).numpy()

torch is needed to export a program in memory, and to verify one; nothing else imports it.
"""

import sys


def _require_main_interpreter():
    """From 3.12 on, CPython itself refuses the compiled module in subinterpreters. Older ones would wait for ever there."""
    try:
        from importlib import import_module

        interpreters = import_module("_xxsubinterpreters")
    except ImportError:
        return
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError("tern only runs in the main interpreter, not in subinterpreters; use threads or processes")


if sys.version_info < (3, 12):
    _require_main_interpreter()

from tern._tern import (  # noqa: E402
    ChatTemplate,
    Function,
    Graph,
    Model,
    NodeTime,
    Session,
    SessionStats,
    StateInfo,
    Tensor,
    TextAnswer,
    TextEmbedder,
    TextEngine,
    TextStream,
    Tokenizer,
    Trace,
    TraceEvent,
    ValueInfo,
    __version__,
    load,
    scope,
)

# Modules not needed for running models are imported on first use.
_LATER = {
    "Error": "_errors",
    "InvalidArgument": "_errors",
    "IoError": "_errors",
    "BadFile": "_errors",
    "Unsupported": "_errors",
    "RunError": "_errors",
    "Cancelled": "_errors",
    "OutOfMemory": "_errors",
    "InternalError": "_errors",
    "Finding": "_files",
    "validate": "_files",
    "devices": "_devices",
    "Device": "_devices",
    "capture": "_capture",
    "export": "_export",
    "ExportReport": "_report",
    "export_llm": "_llm",
    "export_embeddings": "_embeddings",
    "verify": "_verify",
    "inspect": "_inspect",
    "set_log": "_log",
    "linalg": "linalg",
    "sparse": "sparse",
}

__all__ = sorted(
    [
        "ChatTemplate",
        "Function",
        "Graph",
        "Model",
        "NodeTime",
        "Session",
        "SessionStats",
        "StateInfo",
        "Tensor",
        "TextAnswer",
        "TextEmbedder",
        "TextEngine",
        "TextStream",
        "Tokenizer",
        "Trace",
        "TraceEvent",
        "ValueInfo",
        "__version__",
        "load",
        "scope",
        *_LATER,
    ]
)


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'tern' has no attribute '{name}'")
    from importlib import import_module

    module = import_module("tern." + _LATER[name])
    value = module if _LATER[name] == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__():
    return __all__
