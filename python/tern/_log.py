"""Messages that no call raises: to Python's logging, or to a function of the application."""

from __future__ import annotations

from collections.abc import Callable

_LEVELS = {1: "warning", 2: "error"}
_function: Callable[[str, str], object] | None = None


def set_log(function: Callable[[str, str], object] | None) -> None:
    """Passes Tern's messages to function(level, message); level is 'warning' or 'error'. None: to logging's logger 'tern',
    as at first.

    Messages are what no call raises, such as a flight record that cannot be written. Any thread may call the function.
    """
    global _function
    if function is not None and not callable(function):
        from tern._describe import describe

        raise TypeError(f"set_log() takes a function of (level, message) or None, not a {describe(function)}")
    _function = function


def receive(level, message):
    name = _LEVELS.get(level, "error")
    if _function is not None:
        _function(name, message)
        return
    import logging

    logging.getLogger("tern").log(logging.WARNING if name == "warning" else logging.ERROR, "%s", message)
