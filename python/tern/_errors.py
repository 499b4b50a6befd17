"""What Tern raises. Each class is also the built-in exception that it resembles."""

from __future__ import annotations

import re


class Error(Exception):
    """A failure of Tern.

    code    'invalid_argument', 'io', 'bad_file', 'unsupported', 'runtime', 'cancelled', 'out_of_memory' or
            'internal'
    node    number of the node in its function, or None
    op      the node's operation: Tern's op or the ATen operator, or None
    line    'model.py:4', the Python line that the node comes from, or None
    rule    the rule of the archive that a file breaks, or None (docs/format.md)
    offset  byte of the file, or None
    hint    advice, if the message has any, or None
    """

    code = "internal"

    def __init__(self, message: str = ""):
        super().__init__(message)
        self.message = message
        self.node: int | None = None
        self.op: str | None = None
        self.line: str | None = None
        self.rule: str | None = None
        self.offset: int | None = None
        self.hint: str | None = None
        _read(self, message)

    def __str__(self) -> str:
        return self.message


class InvalidArgument(Error, ValueError):
    """The caller's arguments: count, dtype, shape, name."""

    code = "invalid_argument"


class IoError(Error, OSError):
    """A file cannot be opened, read, mapped or written."""

    code = "io"


class BadFile(Error, ValueError):
    """Bytes that break a rule of their format."""

    code = "bad_file"


class Unsupported(Error, NotImplementedError):
    """Valid, but this version does not support it."""

    code = "unsupported"


class RunError(Error, RuntimeError):
    """The program failed while it ran: an index out of range, a failed assertion."""

    code = "runtime"


class Cancelled(Error, RuntimeError):
    """cancel() ended the run."""

    code = "cancelled"


class OutOfMemory(Error, MemoryError):
    code = "out_of_memory"


class InternalError(Error, RuntimeError):
    """A defect of Tern itself."""

    code = "internal"


_CLASSES = {c.code: c for c in (InvalidArgument, IoError, BadFile, Unsupported, RunError, Cancelled, OutOfMemory, InternalError)}

for _class in (Error, *_CLASSES.values()):
    _class.__module__ = "tern"

_NODE = re.compile(r"node (\d{1,10}) of '[^']*' \(([\w.]+)")
_OPERATOR = re.compile(r"\((?:torch\.)?(?:ops\.)?(aten\.[\w.]+)")
# Matches begin at words: attempts at each character would take quadratic time.
_LINE = re.compile(r"(?<![^\s,()'\"])([^\s,()'\"]+\.py:\d+)")
_RULE = re.compile(r"\(rule ([\w.]+), byte (\d{1,20})\)")
# Messages end with the remedy after the last semicolon.
_HINT = re.compile(r"; ([^;]*)$", re.DOTALL)


def _read(error: Error, message: str) -> None:
    if match := _NODE.search(message):
        error.node, error.op = int(match[1]), match[2]
    elif match := _OPERATOR.search(message):
        error.op = match[1]
    if match := _LINE.search(message):
        error.line = match[1]
    if match := _RULE.search(message):
        error.rule, error.offset = match[1], int(match[2])
    if match := _HINT.search(message):
        error.hint = match[1]


def make_error(code: str, message: str) -> Error:
    return _CLASSES[code](message)
