"""python -m trueness.audits.bench --audits 2000 --out FOLDER: the ladder, without the command line's libraries."""

from __future__ import annotations

import argparse
from pathlib import Path

from trueness.audits.bench.run import run


def main() -> None:
    """Run the ladder and print what it tells."""
    parser = argparse.ArgumentParser(prog="python -m trueness.audits.bench")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--audits", type=int, default=2000, help="at most; each is a verdict on one explanation")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--examples", type=int, default=300)
    parser.add_argument("--kind", action="append", default=[])
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--metric", action="append", default=[], help="NAME, file.py:name, or all")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after these no audit is begun")
    given = parser.parse_args()
    run(**vars(given), tell=print)


if __name__ == "__main__":
    main()
