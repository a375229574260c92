"""Write locks/run.txt and locks/dev.txt: the hashes of what `make demo` and `make test` install, by means of uv.

`python tools/lock.py UV`. Versions are those of constraints.txt.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEADER = """\
# Hashes of what `make {target}` installs, of the files for every platform. Made by `make locks`; do not edit.
# Not here: torch and the GPU libraries that it brings. A CPU build and a GPU build of one version are different files,
# and which of them is taken depends on where pip looks. constraints.txt fixes the version of torch.
"""
BUILDING = "hatchling\neditables\n"
"""What building trueness itself needs, so that nothing is downloaded for that unseen."""
GPU = ("torch==", "triton", "nvidia-", "cuda-")
LOCKS = {"run": ("demo", ("report", "data")), "dev": ("test", ("report", "dev"))}


def lock(uv: str, extras: tuple[str, ...]) -> str:
    """The lock of trueness with these extras."""
    command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version=3.11", "--generate-hashes"]
    command += ["--no-annotate", "--no-header", "--constraint=constraints.txt", *(f"--extra={name}" for name in extras)]
    done = subprocess.run([*command, "pyproject.toml", "-"], input=BUILDING, text=True, check=True, capture_output=True)
    return without_gpu(done.stdout)


def without_gpu(text: str) -> str:
    """The same but for torch and what it brings: an entry is a line, and the indented ones that follow."""
    kept, skipping = [], False
    for line in text.splitlines(keepends=True):
        if not line[0].isspace():
            skipping = line.startswith(GPU)
        if not skipping:
            kept.append(line)
    return "".join(kept)


if __name__ == "__main__":
    for name, (target, extras) in LOCKS.items():
        Path(f"locks/{name}.txt").write_text(HEADER.format(target=target) + lock(sys.argv[1], extras))
