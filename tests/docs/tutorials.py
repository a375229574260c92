"""Runs the Python of a page, and compares what it prints with what the page says.

`python -m tests.docs.tutorials docs/tutorials/NAME.md` writes into the page what its blocks print.
"""

import contextlib
import io
import math
import os
import re
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<said>.*?)^```\n)?", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d+\.\d+")
CLOSE = 0.1
"""How far a number with a decimal point may lie from the page's: other processors round differently."""


def run(page):
    """Each block with what it printed, in one namespace, in the working folder."""
    text, space = page.read_text(encoding="utf-8"), {"__name__": "tutorial"}
    for block in BLOCK.finditer(text):
        line = text[: block.start("code")].count("\n")
        code = compile("\n" * line + block["code"], str(page), "exec")  # a traceback names the line of the page
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, space)
        yield block, "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def alike(printed, said):
    """The same words, and numbers that are near."""
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (printed, said)]
    words = [NUMBER.sub("#", text).split() for text in (printed, said)]
    return words[0] == words[1] and all(math.isclose(a, b, abs_tol=CLOSE) for a, b in zip(*numbers, strict=True))


def write(page):
    text, parts, end = page.read_text(encoding="utf-8"), [], 0
    for block, printed in run(page):
        if block["said"] is not None:
            parts += [text[end : block.start("said")], printed]
            end = block.end("said")
    page.write_text("".join(parts) + text[end:], encoding="utf-8")


if __name__ == "__main__":
    for given in sys.argv[1:]:
        page = Path(given).resolve()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            write(page)
            os.chdir(page.parent)
