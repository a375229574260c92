"""What the terminal shows of a checkup."""

from __future__ import annotations

from trueness.api.bar import duration
from trueness.api.checkup import Checkup
from trueness.cli.console import open_console
from trueness.cli.listing import print_rows
from trueness.errors import install


def checkup(found: Checkup) -> None:
    """What is installed, the machine, and a line for each budget."""
    console = open_console()
    console.print(", ".join(f"{name} {version}" for name, version in found.versions.items()))
    for extra, missing in found.extras.items():
        what = "installed" if not missing else f"missing ({', '.join(missing)}): {install(extra)}"
        console.print(f"extra {extra}: {what}")
    console.print(
        f"This machine: {found.cores} cores, {found.memory:.1f} GiB of memory, {', '.join(found.devices)}. "
        f"One core reads {found.speed:.0f} sentences a second with a transformer of the size of MiniLM."
    )
    for name, why in (found.refused or {}).items():
        console.print(f"Not possible for this model: {name}: {why}")
    if found.prospects:
        console.print("\nAn audit of this model here:")
        rows = (
            (
                one.budget,
                "–" if one.seconds is None else duration(one.seconds),
                f"{one.examples:,}" if one.examples else "–",
                "may be shown, or must not"
                if one.can_show
                else "nothing"
                if one.seconds is None
                else "must not be shown",
            )
            for one in found.prospects
        )
        print_rows(console, ("budget", "takes about", "examples", "can decide"), rows)
        for one in found.prospects:
            if one.told:
                console.print(f"{one.budget}: {'; '.join(one.told)}.")
