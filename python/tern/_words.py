"""Python arguments as words of the command: size={"s0": 8} is --size s0=8."""

from __future__ import annotations

import os
from collections.abc import Mapping
from numbers import Number

from tern._describe import describe


def text(name, value):
    """A word for an option's value. Refuses objects whose text says something else, such as arrays."""
    if isinstance(value, (str, Number)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{name} takes text, numbers or paths, not a {describe(value)}")


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
                    result += [flag, f"{key}={text(name, one)}"]
        elif isinstance(value, (list, tuple)):
            for item in value:
                result += [flag, text(name, item)]
        else:
            result += [flag, text(name, value)]
    return result
