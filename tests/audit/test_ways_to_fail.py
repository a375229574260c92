"""A gate never ends with 0 where it has no verdict: a table of ways to fail, each told in a sentence."""

import errno
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import BrokenExecutor, Future
from pathlib import Path
from unittest import mock

import pytest

from tests.audit import tiny
from tests.command import separately, trueness
from tests.inline import Here

SIZES = [
    part
    for name, value in {**tiny.SMALLEST, "examples": 100}.items()
    for part in ("--set", f"{name}={json.dumps(value)}")
]
EXIT = [
    *("import sys; sys.exit(0)", "import sys; sys.exit()", "import sys; sys.exit('text')", "raise SystemExit(1)"),
    *("raise SystemExit(False)", "raise KeyboardInterrupt", "raise GeneratorExit", "raise BaseException('x')"),
]
PASSES = '[verdict]\n"leave-one-out" = ["may be shown", "must not be shown", "cannot tell"]\n'


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder with an audit that is done and a gate that it passes."""
    place = tmp_path_factory.mktemp("ways")
    tiny.write_csv(place / "reviews.csv", tiny.make_rows(100))
    (place / "mine.py").write_text(tiny.PREDICT + tiny.SALIENCY)
    (place / "gate.toml").write_text(PASSES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr("trueness.api.executors.local_executor", lambda *_: Here())
        assert audit().returncode == 0
    return place


@pytest.fixture
def place(done, tmp_path, monkeypatch):
    """A copy of it, in which nothing is computed by other processes."""
    shutil.copytree(done, tmp_path / "place")
    monkeypatch.chdir(tmp_path / "place")
    monkeypatch.setattr("trueness.api.executors.local_executor", lambda *_: Here())
    return tmp_path / "place"


def audit(*more, model="mine.py:predict", data="reviews.csv", store="store", gate="gate.toml"):
    given = ["--gate", gate, "--explainer", "leave-one-out", "--store", store, *SIZES]
    return trueness("audit", model, data, *given, *more, "--json")


def failed(done, statuses=(2,)):
    assert done.returncode in statuses, done.stderr
    assert "Traceback" not in done.stderr
    assert "error of trueness" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("trueness: ")
    return last


def broken(done):
    """What is said of an explainer whose code fails: the others are judged, and the gate does not hold."""
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    (told,) = [line for line in done.stderr.splitlines() if "its code failed" in line]
    return told


def test_the_gate_passes_where_nothing_fails(place):
    assert audit().returncode == 0


# What code of the user does


def audit_with(part, code, place):
    """An audit in which one part is the thing in a file of that code; each its own, since workers are this process."""
    name = f"{place.parent.name}.py"
    Path(name).write_text(code)
    given = [["--explainer", f"{name}:thing"], {}] if part == "explainer" else [[], {part: f"{name}:thing"}]
    return name, audit(*given[0], **given[1], store="new")


@pytest.mark.parametrize("code", EXIT)
@pytest.mark.parametrize("part", ["model", "explainer", "data"])
def test_code_that_ends_the_program_when_it_is_imported(place, part, code):
    name, found = audit_with(part, f"\n{code}\n", place)
    assert f"{name} line 2" in failed(found)


@pytest.mark.parametrize("code", EXIT)
@pytest.mark.parametrize(("part", "takes"), [("model", "texts"), ("explainer", "model, batch, target"), ("data", "")])
def test_code_that_ends_the_program_when_it_is_called(place, part, takes, code):
    name, found = audit_with(part, f"def thing({takes}):\n    {code}\n", place)
    told = broken(found) if part == "explainer" else failed(found)
    assert f"{name} line 2" in told


FAULTS = {
    "a class that ends when it is made": "class thing:\n    def __init__(self):\n        raise SystemExit(0)\n",
    "a property that ends": "class Thing:\n    @property\n    def predict_proba(self):\n"
    "        raise SystemExit(0)\nthing = Thing()\n",
    "classes that end": "class Thing:\n    def __call__(self, texts):\n        return 1\n"
    "    @property\n    def classes(self):\n        raise SystemExit(0)\nthing = Thing()\n",
    "an array that ends": "class Ends:\n    def __array__(self, *_, **__):\n        raise SystemExit(0)\n"
    "def thing(texts):\n    return Ends()\n",
    "an attribute that ends": "def __getattr__(name):\n    raise SystemExit(0)\n",
    "a version that ends": "class V:\n    def __str__(self):\n        raise SystemExit(0)\n"
    "def thing(texts):\n    return 1\nthing.version = V()\n",
    "typer": "import typer\ndef thing(texts):\n    raise typer.Exit(0)\n",
    "no such name": "other = 1\n",
    "no function": "thing = 3\n",
    "no Python": "def thing(\n",
    "nothing returned": "def thing(texts):\n    return None\n",
    "too few rows": "def thing(texts):\n    return [[0.5, 0.5]]\n",
    "not a number": "def thing(texts):\n    return [[float('nan'), 1]] * len(texts)\n",
    "too large a number": "def thing(texts):\n    return [[10**400, 1]] * len(texts)\n",
    "complex numbers": "def thing(texts):\n    return [[0.5 + 1j, 0.5]] * len(texts)\n",
    "a sparse matrix": "from scipy.sparse import csr_matrix\n"
    "def thing(texts):\n    return csr_matrix([[0.5, 0.5]] * len(texts))\n",
    "one class": "def thing(texts):\n    return [[1.0]] * len(texts)\n",
    "no memory": "def thing(texts):\n    raise MemoryError\n",
}


@pytest.mark.parametrize("code", FAULTS.values(), ids=FAULTS)
def test_functions_that_are_no_models(place, code):
    failed(audit_with("model", code, place)[1])


@pytest.mark.parametrize("code", ["1 / 0", "import nowhere_at_all", "raise SystemExit(0)", "def"])
def test_a_broken_module_by_its_dotted_name(place, monkeypatch, code):
    monkeypatch.syspath_prepend(place)
    name = f"broken_{abs(hash(code))}"
    (place / f"{name}.py").write_text(f"\n{code}\n")
    told = failed(audit(model=f"{name}:predict", store="new"))
    assert f"{name} cannot be imported" in told
    assert "line 2" in told


@pytest.mark.parametrize(
    "returned",
    ["None", "batch.mask.float() * float('nan')", "batch.mask.float()[:, :1]", "model.double() and 1", "1 / 0"],
)
def test_explainers_that_are_none(place, returned):
    broken(audit_with("explainer", f"def thing(model, batch, target):\n    return {returned}\n", place)[1])


def test_an_explainer_that_hangs_is_ended_and_the_others_are_judged(place, monkeypatch):
    monkeypatch.setenv("TRUENESS_CALL_SECONDS", "1")
    code = "import time\ndef thing(model, batch, target):\n    while True:\n        time.sleep(9)\n"
    name, found = audit_with("explainer", code, place)
    told = broken(found)
    assert f"{name} line 4: OverdueError: it did not come back within 1 s; TRUENESS_CALL_SECONDS" in told


# What becomes of the work


class Lost(Here):
    """An executor whose workers end so."""

    def __init__(self, error):
        self.error = error

    def submit(self, function, /, *args, **kwargs):
        future = Future()
        future.set_exception(self.error)
        return future


@pytest.mark.parametrize(
    "error", [BrokenExecutor("lost"), SystemExit(0), KeyboardInterrupt(), OSError(errno.EIO, "broken"), EOFError()]
)
def test_workers_that_are_lost(place, monkeypatch, error):
    monkeypatch.setattr("trueness.api.executors.local_executor", lambda *_: Lost(error))
    failed(audit(store="new"))


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_only(*_, **__):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def too_large(*_, **__):
    raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


@pytest.mark.parametrize("refuse", [full, read_only, too_large])
@pytest.mark.parametrize("store", ["store", "new"])
def test_disks_that_refuse(place, monkeypatch, refuse, store):
    with mock.patch("os.replace", refuse), mock.patch("os.rename", refuse):
        failed(audit(store=store))


def write(text):
    return lambda *_, **__: Path("audit.json").write_text(text) and Path("audit.html")


NEWER = json.dumps({"schema_version": 99})


@pytest.mark.parametrize("text", ["", "{", "{}", NEWER, "[" * 100_000, '{"schema_version": 1}'])
def test_a_verdict_that_cannot_be_read_back(place, text):
    with mock.patch("trueness.audits.report.write_audit", write(text)):
        assert "audit.json" in failed(audit())


def test_a_verdict_of_another_audit_is_read_back(place):
    other = json.loads(Path("audit.json").read_text())
    other["key"] = "0" * 40
    with mock.patch("trueness.audits.report.write_audit", write(json.dumps(other))):
        assert "do not hold what was just written" in failed(audit())


def test_a_page_that_is_empty(place):
    with mock.patch("trueness.audits.report.write_page", lambda _, page: page.write_text("") or page):
        assert "do not hold what was just written" in failed(audit())


STORES = {
    "a file": lambda: (shutil.rmtree("store"), Path("store").write_text("x")),
    "of a newer version": lambda: Path("store/trueness-store.json").write_text('{"format": 99}'),
    "without a marker": lambda: Path("store/trueness-store.json").unlink(),
    "with a broken marker": lambda: Path("store/trueness-store.json").write_text("{"),
    "with a file for its objects": lambda: (shutil.rmtree("store/objects"), Path("store/objects").write_text("")),
}


@pytest.mark.parametrize("damage", STORES.values(), ids=STORES)
def test_stores_that_cannot_be_read(place, damage):
    damage()
    failed(audit())


GATES = {
    "empty": "",
    "no TOML": "verdict = [",
    "unknown key": "verdicts = 1\n",
    "unknown explainer": '[verdict]\nlime = "may be shown"\n',
    "unknown verdict": '[verdict]\n"leave-one-out" = "shown"\n',
    "unknown trial": '[floor."leave-one-out"]\nnope = 0.1\n',
    "nothing to compare with": "[baseline]\nno_worse = true\n",
    "nested": "a = " + "[" * 3000,
}


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
def test_gates_that_state_nothing(place, gate):
    Path("gate.toml").write_text(gate)
    failed(audit())


@pytest.mark.parametrize(
    ("gate", "status"),
    [
        ("require_any = 9\n", 1),
        ('[verdict]\nrandom = "may be shown"\n', 1),
        ('[verdict]\n"leave-one-out" = "must not be shown"\n', 1),
        ('[floor.random]\n"removal costs" = 0.9\n', 1),
        ('[floor.random]\n"planted evidence" = 0.9\n', 3),
    ],
)
def test_a_gate_that_does_not_hold(place, gate, status):
    Path("gate.toml").write_text(gate)
    found = audit()
    assert found.returncode == status, found.stderr
    assert found.stderr.strip().endswith(".")


@pytest.mark.parametrize("baseline", ["gone.json", "gate.toml", "newer.json", "."])
def test_baselines_that_are_none(place, baseline):
    Path("newer.json").write_text(NEWER)
    Path("gate.toml").write_text("[baseline]\nno_worse = true\n")
    failed(audit("--baseline", baseline))


@pytest.mark.parametrize("option", ["--junit", "--markdown", "--csv", "--latex", "--model-card", "--out"])
def test_results_that_cannot_be_written(place, option):
    failed(audit(option, "gate.toml/result.html"))


@pytest.mark.parametrize(
    "setting",
    [
        *("model=x", "data=x", "planned=x", "examples=nan", "hidden_shares=[nan]", f"shuffles={'9' * 400}"),
        *("planted_models=5001", "examples=x"),
    ],
)
def test_settings_that_mean_nothing(place, setting):
    failed(audit("--set", setting))


@pytest.mark.parametrize("budget", ["9" * 400, "nan", "-1m", "1s", "1e400"])
def test_budgets_that_mean_nothing(place, budget):
    failed(audit("--budget", budget))


# What becomes of the process

HOSTILE = {
    "os._exit(0)": 2,
    "os._exit(1)": 2,
    "os._exit(3)": 2,
    "sys.exit(0)": 2,
    "raise KeyboardInterrupt": 130,
    "os.kill(os.getpid(), signal.SIGKILL)": 137,
    "os.kill(os.getpid(), signal.SIGTERM)": 143,
    "os.abort()": 134,
    "ctypes.string_at(0)": 139,
    "threading.Thread(target=os._exit, args=(0,)).start(); time.sleep(30)": 2,
    "atexit.register(os._exit, 0); 1 / 0": 70,
    "os.execv('/bin/true', ['true'])": 2,
    "os.closerange(3, 100); os._exit(0)": 2,
    "os.fork() or os._exit(0); os.wait(); sys.exit(0)": 2,
    "sys.stdout.close()": 2,
    "os.close(1); print('x')": 2,
    "sys.exit = lambda _: None; os._exit(0)": 2,
    "resource.setrlimit(resource.RLIMIT_CPU, (0, 0)); [0 for _ in iter(int, 1)]": 137,
}
SCRIPT = """
import atexit, ctypes, os, resource, signal, sys, threading, time
import trueness
from trueness.cli.main import main

def hostile():
    {code}
    return {{}}

trueness.catalogue = hostile
sys.argv = ["trueness", "list"]
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork there is no child")
@pytest.mark.parametrize("code", HOSTILE)
def test_processes_that_end_before_their_command(code, tmp_path):
    script = [sys.executable, "-c", SCRIPT.format(code=code)]
    found = subprocess.run(script, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60)
    assert found.returncode == HOSTILE[code], found.stderr
    assert found.stderr.strip() or found.returncode == 130
    assert "Traceback" not in found.stderr


NO_FORK = """
import os, sys
del os.fork
sys.argv = ["trueness", *sys.argv[1:]]
from trueness.cli.main import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("returned", "status"), [("os._exit(0)", 2), ("sys.exit(0)", 2), ("[[0.5, 0.5]] * len(texts)", 0)]
)
def test_where_there_is_no_fork_the_last_word_counts_as_well(returned, status, tmp_path):
    (tmp_path / "mine.py").write_text(f"import os, sys\ndef predict(texts):\n    return {returned}\n")
    command = [sys.executable, "-c", NO_FORK, "explain", "mine.py:predict", "--text", "a film", "--explainer", "random"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)
    assert found.returncode == status, found.stderr
    assert "Traceback" not in found.stderr
    assert bool(found.stderr.strip()) or not status


@pytest.mark.slow
def test_a_model_that_ends_its_process_and_an_explainer_that_ends_its_worker(done, monkeypatch, tmp_path):
    monkeypatch.chdir(done)
    Path("vanishes.py").write_text(
        "import os\ndef predict(texts):\n    os._exit(0)\ndef saliency(model, batch, target):\n    os._exit(0)\n"
    )
    given = ["--gate", "gate.toml", "--store", tmp_path / "store", "--workers", 1, *SIZES]
    model = separately("audit", "vanishes.py:predict", "reviews.csv", *given)
    assert "ended with status 0 before the command did" in failed(model)
    both = ["--explainer", "leave-one-out", "--explainer", "vanishes.py:saliency"]
    explainer = separately("audit", "mine.py:predict", "reviews.csv", *both, *given)
    assert "worker process died twice" in failed(explainer)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_standard_output_that_is_full(tmp_path):
    with Path("/dev/full").open("w") as device:
        command = [sys.executable, "-m", "trueness", "list", "--json"]
        found = subprocess.run(command, stdout=device, stderr=subprocess.PIPE, text=True, check=False)
    assert found.returncode == 2
    assert "takes no more (No space left on device)" in found.stderr
