"""The devices of this machine."""

from __future__ import annotations

from typing import Any, NamedTuple


class Device(NamedTuple):
    name: str  #: argument of load(device=...)
    description: str
    problem: str  #: reason why the device is unusable, or ''
    properties: dict[str, Any]  #: see 'tern devices --json'


def devices() -> list[Device]:
    """The devices that load() takes: the CPU, and those of plugins beside the package and in TERN_DEVICE_PATH."""
    import json

    from tern import _tern

    found = json.loads(_tern._run(["devices", "--json"])[1])["devices"]
    return [Device("cpu", "this processor", "", {})] + [
        Device(d["name"], d.get("description", ""), d.get("problem", ""), d) for d in found
    ]
