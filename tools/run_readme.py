"""Run what README.md tells a person to run, from top to bottom in this folder: `make readme`, after `make demo`.

The demo's model stands for `my_classifier/`; forty movie sentences, a file with a predictor and an explainer, and a
gate stand for the other files that a person brings. What is not run is printed with its reason.
"""

from __future__ import annotations

import csv
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

ROOT = Path(__file__).resolve().parent.parent
GIVEN = Path("build/readme")
STANDS_FOR = {
    "my_classifier/": "demo/model",
    **{name: f"{GIVEN}/{name}" for name in ("reviews.csv", "mine.py", "gate.toml")},
}
NOT_RUN = {
    "make demo": "ran before",
    "make test": "runs by itself",
    "make docs": "runs by itself",
    "source ": "changes the shell",
    "pip install ": "changes the environment",
    "trueness run recursive-roar": "takes hours",
    "trueness run …": "needs a cluster",
    "trueness demo llm": "needs a language model",
}
"""How a command begins, and why it is left out."""
SERVERS = ("trueness serve", "trueness rate")
GATE_STATUS = {0, 1, 3}
"""Whether a gate holds is up to the model."""
ROWS = 40
MINE = '''
def predict(texts):
    """Two classes."""
    return [[0.9, 0.1] if " a " in text else [0.2, 0.8] for text in texts]


predict.classes = ("negative", "positive")


def saliency(model, batch, target):
    """The first words count most."""
    return batch.mask.float() / batch.mask.cumsum(dim=1).clamp(min=1)
'''
_CODE = re.compile(r"^```(?P<language>\w*)\n(?P<block>.*?)^```$|`(?P<inline>[^`\n]+)`", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"(?:make|pip|source|trueness) \S")


def commands(page: str) -> Iterator[tuple[str, str]]:
    """What a page tells people to run, in its order: `shell` and one command, or `python` and a block."""
    for found in _CODE.finditer(page):
        if found["language"] == "python":
            yield "python", found["block"]
        elif not found["language"]:
            lines = (found["block"] or found["inline"]).splitlines()
            yield from (("shell", re.sub(r"\s{2,}#.*", "", line)) for line in lines if _COMMAND.match(line))


def why_not(command: str) -> str | None:
    """Why a command is left out; None where it is run."""
    return next((why for begin, why in NOT_RUN.items() if command.startswith(begin)), None)


def give() -> None:
    """Write the files that a person brings."""
    from trueness.kinds.text.data.texts import read_texts

    GIVEN.mkdir(parents=True, exist_ok=True)
    with (GIVEN / "reviews.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows((one.text, one.label) for one in read_texts("movie-sentences").texts[:ROWS])
    (GIVEN / "mine.py").write_text(MINE, encoding="utf-8")
    (GIVEN / "gate.toml").write_text("require_any = 1\n", encoding="utf-8")


def run(kind: str, code: str) -> str | None:
    """Run it; what went wrong, if anything did."""
    if kind == "python":
        script = GIVEN / "block.py"
        script.write_text(code, encoding="utf-8")
        return _ended(subprocess.run([sys.executable, script], check=False).returncode, {0})
    words = [str(Path(sys.executable).with_name("trueness")), *shlex.split(code)[1:]]
    if code.startswith(SERVERS):
        return _serves(words)
    return _ended(subprocess.run(words, check=False).returncode, GATE_STATUS if "--gate" in words else {0})


def _ended(status: int, expected: set[int]) -> str | None:
    return None if status in expected else f"ended with status {status}"


def _serves(words: list[str]) -> str | None:
    """A server gives the page at its address, and ends when interrupted."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = re.search(r"http://\S+", server.stdout.readline())
            if address is None:
                return "told no address"
            with build_opener(HTTPCookieProcessor).open(address[0], timeout=60) as answer:  # the token becomes a cookie
                print(f"{address[0].split('?')[0]} answers {answer.status}", flush=True)
        finally:
            server.send_signal(signal.SIGINT)
        return _ended(server.wait(timeout=60), {130})


def main() -> int:
    """Run all; 1 where something went wrong or a reason is about nothing."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background a shell's jobs ignore it
    give()
    found = list(commands((ROOT / "README.md").read_text(encoding="utf-8")))
    told = [code for _, code in found]
    faults = [f"no {begin!r} is left out" for begin in NOT_RUN if not any(code.startswith(begin) for code in told)]
    for kind, asked in found:
        if why := why_not(asked):
            print(f"\n--- not run ({why}): {asked}", flush=True)
            continue
        code = re.sub("|".join(map(re.escape, STANDS_FOR)), lambda name: STANDS_FOR[name[0]], asked)
        print(f"\n--- {code}", flush=True)
        begin = time.monotonic()
        if fault := run(kind, code):
            faults.append(f"{code.strip()}: {fault}")
        print(f"--- {time.monotonic() - begin:.1f} s", flush=True)
    for fault in faults:
        print(f"README: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
