"""Mutation testing: mutmut changes the code of one part in every small way it knows, and the part's tests should fail.

`make mutate PART=stats`, or protocols, or engine; SAMPLE=300 tries so many changes, drawn at random, instead of all,
and DRAW=1 another such sample.
Works on a copy in build/mutation, with the tests that are not marked slow; counts and survivors go to
results/robustness/mutation.json. Why no test can see a survivor is written there by hand, under `why`, and kept.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

KEPT = Path("results/robustness/mutation.json")
COPIED = ("src", "tests", "tools", "docs", "locks", "pyproject.toml", "constraints.txt", "README.md")
TESTS = {
    "stats": ["tests/stats"],
    "protocols": ["tests/protocols", "tests/papers"],
    # mutmut itself needs the file handles that one test takes away.
    "engine": ["tests/engine", "-k", "not file_handles"],
}
STATES = ("killed", "timeout", "survived", "no tests", "suspicious", "skipped", "not checked")


def prepare(part: str) -> Path:
    """A copy of the project in which mutmut changes one part and runs that part's tests."""
    folder = Path("build/mutation") / part
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in COPIED:
        if Path(name).is_dir():
            shutil.copytree(name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(name, folder)
    with (folder / "pyproject.toml").open("a") as file:  # [tool.mutmut] is the last table
        file.write(f'only_mutate = ["src/trueness/{part}/*"]\n')
        file.write(f"pytest_add_cli_args_test_selection = {json.dumps([*TESTS[part], '-m', 'not slow'])}\n")
    return folder


def count(listed: str) -> dict[str, dict[str, int]]:
    """For each module how many mutants came to which end, from what `mutmut results --all true` lists."""
    found: dict[str, Counter[str]] = {}
    for line in listed.splitlines():
        name, separator, state = line.strip().rpartition(": ")
        if separator and state in STATES:
            found.setdefault(name.partition(".x")[0], Counter())[state] += 1
    return {module: {"mutants": states.total(), **states} for module, states in sorted(found.items())}


def still_explained(before: Mapping[str, Any], survivors: Sequence[str]) -> dict[str, dict[str, str]]:
    """The reasons that somebody wrote under `why`, of the changes that survive still: no test could see them."""
    why = {name: reason for name, reason in before.get("why", {}).items() if name in survivors}
    return {"why": why} if why else {}


def main(part: str, sample: int, draw: int = 0) -> None:
    """Run, count and keep; of all changes, or of as many as asked for."""
    # mutmut has a virtual environment of its own, since it does not work with the newest pytest; the rest is shared.
    ours = Path(".venv") / Path(os.__file__).relative_to(sys.base_prefix).parent / "site-packages"
    here = Path(sys.prefix) / Path(os.__file__).relative_to(sys.base_prefix).parent / "site-packages"
    (here / "zz-trueness.pth").write_text(f"{ours.resolve()}\n")
    begin, folder = time.monotonic(), prepare(part)
    mutmut = str(Path(sys.executable).absolute().with_name("mutmut"))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    drawn: list[str] = []
    if sample:
        # A name that no change has: all changes are written, and none is tried.
        subprocess.run([mutmut, "run", "none"], cwd=folder, env=environment, check=False)
        every = [line.strip().rpartition(": ")[0] for line in _listed(mutmut, folder).splitlines()]
        drawn = random.Random(draw).sample(sorted(filter(None, every)), sample)
    subprocess.run([mutmut, "run", *drawn], cwd=folder, env=environment, check=True)
    listed = "\n".join(
        line for line in _listed(mutmut, folder).splitlines() if not drawn or line.strip().rpartition(": ")[0] in drawn
    )
    modules = count(listed)
    total = sum((Counter(states) for states in modules.values()), Counter[str]())
    noticed = total["killed"] + total["timeout"]
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    survivors = sorted(name for name, _, state in map(_parted, listed.splitlines()) if state == "survived")
    given = [f"{name}={number}" for name, number in (("SAMPLE", sample), ("DRAW", draw)) if number]
    kept[part] = {
        "command": " ".join(["make mutate", f"PART={part}", *given]),
        "seconds": round(time.monotonic() - begin),
        "total": {**total, "killed, %": round(100 * noticed / total["mutants"], 1)},
        "modules": modules,
        "survivors": survivors,
        **still_explained(kept.get(part, {}), survivors),
    }
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")


def _listed(mutmut: str, folder: Path) -> str:
    asked = [mutmut, "results", "--all", "true"]
    return subprocess.run(asked, cwd=folder, check=True, capture_output=True, text=True).stdout


def _parted(line: str) -> tuple[str, str, str]:
    return line.strip().rpartition(": ")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
