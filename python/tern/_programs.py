"""Types of other packages in signatures: type checkers need not read torch and transformers for them."""

from __future__ import annotations

from typing import Any, Protocol


class ExportedProgram(Protocol):
    """torch.export.ExportedProgram"""

    @property
    def graph_signature(self) -> Any: ...
    def module(self) -> Any: ...


class Module(Protocol):
    """torch.nn.Module"""

    def forward(self, *args: Any, **kwargs: Any) -> Any: ...
    def named_parameters(self) -> Any: ...


class PreTrainedModel(Protocol):
    """transformers.PreTrainedModel"""

    @property
    def config(self) -> Any: ...
    def parameters(self) -> Any: ...
