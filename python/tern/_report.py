"""The report of an export."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


def _size(count: int) -> str:
    value, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        del units[0]
    return f"{value:.3g} {units[0]}"


@dataclass(frozen=True, repr=False)
class ExportReport:
    """The archive that export() wrote. `data` has everything that 'tern export --json' prints."""

    path: str
    bytes: int  #: of the file
    weight_bytes: int  #: of the weights, uncompressed
    stored_bytes: int  #: of the weights in the file
    nodes: int
    traced_nodes: int  #: of PyTorch's graph
    functions: int
    states: int
    context: int | None  #: positions of the key/value cache of a decoder; most tokens of a text, for embeddings
    vocabulary: int | None  #: token ids of a decoder
    dimensions: int | None  #: numbers of a vector of an archive for embeddings
    quantized: Mapping[str, Any] | None  #: weights with their formats and errors
    tuning: Mapping[str, Any] | None
    data: Mapping[str, Any]

    def __repr__(self) -> str:
        weights = len((self.quantized or {}).get("weights", ()))
        more = f", {weights} quantized weights" if weights else ""
        more += f", context {self.context}" if self.context else ""
        return f"tern.ExportReport('{self.path}', {_size(self.bytes)}, {self.nodes} nodes, {self.states} states{more})"

    def __getitem__(self, name: str) -> Any:
        """A member of `data`: report['segments']."""
        return self.data[name]

    def __hash__(self) -> int:
        return hash((self.path, self.bytes))


def export_report(data: dict[str, Any]) -> ExportReport:
    optional = {name: data.get(name) for name in ("context", "vocabulary", "dimensions", "quantized", "tuning")}
    names = ("bytes", "weight_bytes", "stored_bytes", "nodes", "traced_nodes", "functions", "states")
    required = {name: data[name] for name in names}
    return ExportReport(path=data["output"], **required, **optional, data=data)
