"""The devices of this machine."""

from __future__ import annotations

from typing import Any, NamedTuple


class Device(NamedTuple):
    name: str  #: what load(device=...) takes
    description: str
    problem: str  #: why it cannot be used; '' where it can
    properties: dict[str, Any]  #: as 'tern devices --json' has them


def devices() -> list[Device]:
    """The devices that load() takes: the CPU, and those of plugins beside the package and in TERN_DEVICE_PATH."""
    import json

    from tern import _tern

    found = json.loads(_tern._run(["devices", "--json"])[1])["devices"]
    return [Device("cpu", "this processor", "", {})] + [
        Device(d["name"], d.get("description", ""), d.get("problem", ""), d) for d in found
    ]
