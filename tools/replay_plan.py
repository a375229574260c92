"""What a plan is worth: what `trueness plan` would have said in the middle of a run that has ended, and what was left.

    python tools/replay_plan.py STORE WORKERS STUDY [KEY=VALUE ...]

The tasks that had finished first are put into a store of their own, as many as half of them and more.
"""

import shutil
import sys
import tempfile

import trueness as tn
from trueness.cli.options import settings_of
from trueness.engine.store import Store


def main(path: str, workers: str, study: str, *settings: str) -> None:
    """Print a row for every few tasks."""
    store, given = Store.open(path), settings_of(list(settings))
    keys = store.keys()
    done = sorted((float(store.meta(key)["finished"]), key) for key in keys)
    end = done[-1][0]
    print("| finished | the plan: seconds left | were left |\n|---|---|---|")
    for count in range(len(done) // 2 + 1, len(done) * 3 // 4 + 1):
        with tempfile.TemporaryDirectory() as folder:
            half = Store.open(folder, create=True)
            for _, key in done[:count]:
                shutil.copytree(store.objects / key, half.objects / key)
            plan = tn.plan(study, store=folder, workers=int(workers), **given)
        print(f"| {count} of {len(done)} | {plan.seconds:.0f} | {end - done[count - 1][0]:.0f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
