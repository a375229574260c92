"""The Stanford Sentiment Treebank in its original bracketed form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from trueness.data.lines import read_lines
from trueness.errors import UserError
from trueness.kinds.text.data.examples import RawExample

_LEAF = re.compile(r"\(\d ([^()\s]+)\)")


def read_trees(path: Path) -> Iterator[RawExample]:
    """One example per tree: its leaves joined by spaces, and its root class 0 (very negative) to 4 (very positive)."""
    for number, line in read_lines(path):
        if line is None or not re.match(r"\([0-4] ", line):
            raise UserError(f"{path}, line {number} is not a sentiment tree.")
        yield RawExample(" ".join(_LEAF.findall(line)), int(line[1]))
