"""Names, help and refusals do not wait for torch."""

import subprocess
import sys

ASKED = """
import resource, sys
from trueness.cli.main import main
for given in (["--help"], ["list"], ["list", "nosuch"], ["explain", "nosuch", "--text", "a"],
              ["audit", "nosuch", "a.csv"], ["run", "nosuch"], ["report", "nosuch"], ["data", "check", "nosuch"]):
    try:
        main(given)
    except SystemExit:
        pass
    loaded = {"torch", "scipy", "transformers"} & set(sys.modules)
    assert not loaded, (given, loaded)
spent = resource.getrusage(resource.RUSAGE_SELF)
print("CPU seconds", spent.ru_utime + spent.ru_stime, file=sys.stderr)
"""


def test_names_help_and_refusals_load_no_torch():
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Eight commands in one process; one alone takes less than a second.
    assert float(done.stderr.rsplit("CPU seconds", 1)[1]) < 4
