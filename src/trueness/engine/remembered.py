"""The small JSON files of a folder that many ask for: each is read once, until something is written to it."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from pathlib import Path
from typing import Any

from trueness.boundary import parse_json
from trueness.engine.encoding import JUST_NOW
from trueness.engine.files import read_inside

_State = tuple[int, int, int, int]


class Remembered:
    """One folder of a store. Links, pipes and what is not JSON are passed over."""

    def __init__(self, root: Path, folder: str, largest: int) -> None:
        self.root, self.folder, self.largest = root, folder, largest
        self._kept: dict[str, tuple[_State | None, Any]] = {}

    def read(self) -> dict[str, Any]:
        """What the files hold now, by name; not to be changed."""
        kept: dict[str, tuple[_State | None, Any]] = {}
        with contextlib.suppress(OSError):
            for name, state in self._states():
                kept[name] = self._kept.get(name, (None, None))
                if state is None or kept[name][0] != state:
                    kept[name] = (state, self._parsed(name))
        self._kept = kept  # put in place at once: several threads may read
        return {name: found for name, (_, found) in kept.items() if found is not None}

    def _parsed(self, name: str) -> Any:
        with contextlib.suppress(OSError, ValueError):
            return parse_json(read_inside(self.root, self.folder, name, largest=self.largest))
        return None

    def _states(self) -> list[tuple[str, _State | None]]:
        """Each ordinary file with what changes when it is written to; None for one that may change unseen."""
        found: list[tuple[str, _State | None]] = []
        now = time.time_ns()
        with os.scandir(self.root / self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(".json"):
                    about = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(about.st_mode):
                        state = (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
                        found.append((entry.name, state if now - max(state[2:]) >= JUST_NOW else None))
        return found
