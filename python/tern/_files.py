"""Checks of files."""

from __future__ import annotations

import os
from typing import NamedTuple

from tern import _tern


class Finding(NamedTuple):
    """A rule that a file breaks, or what this version cannot run."""

    rule: str  #: 'segments.tiling'; docs/format.md lists the rules
    unsupported: bool  #: lawful perhaps, but not known to this version
    offset: int  #: byte in the file
    where: str  #: "node 3 of 'forward' (matmul, from aten.mm, model.py:4)"
    message: str

    def __str__(self):
        return f"byte {self.offset}: {self.rule}: {self.where}{': ' if self.where else ''}{self.message}"


def validate(path: str | os.PathLike[str]) -> list[Finding]:
    """Checks an archive (.tern) or .pt2 file against every rule of its format. The list is empty for a valid file.

    Safe on any bytes. Raises tern.IoError for a file that cannot be read.
    """
    return [Finding(*finding) for finding in _tern._check(os.fspath(path))]
