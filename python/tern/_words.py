"""Python arguments as words of the command: size={"s0": 8} is --size s0=8."""

from __future__ import annotations

import os
from collections.abc import Mapping


def _text(value):
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def words(options):
    """Words for a dictionary of options. None and False leave an option out, True gives a flag, a list repeats it."""
    result = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            result.append(flag)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                items = item if isinstance(item, (list, tuple)) else [item]
                for one in items:
                    result += [flag, f"{key}={_text(one)}"]
        elif isinstance(value, (list, tuple)):
            for item in value:
                result += [flag, _text(item)]
        else:
            result += [flag, _text(value)]
    return result
