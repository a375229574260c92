"""The fixture `trueness_gate`, in a pytest of its own."""

import os
import subprocess
import sys

import pytest

from tests.audit.small_audits import audit, judged
from trueness.audits.saved import write_audit

TEST = """
def test_explanations(trueness_gate):
    found = trueness_gate({subject!r}, gate={gate!r}, baseline={baseline!r})
    assert found.size == 50
"""


def run(folder, code):
    (folder / "test_it.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "trueness.api.pytest_plugin", "-p", "no:cacheprovider"]
    # Where the package is installed, the plug-in is known by its entry point as well.
    named = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run([*command, "test_it.py"], cwd=folder, capture_output=True, text=True, check=False, env=named)


@pytest.mark.parametrize(
    ("gate", "status", "said"),
    [
        ("require_any = 1", 0, "1 passed"),
        ('[verdict]\nlime = "must not be shown"', 1, "it must be 'must not be shown'"),
        ('[verdict]\nlimee = "may be shown"', 1, "did you mean lime"),
        ("gate.toml", 1, "verdict of ig"),
        ("absent.toml", 1, "absent.toml"),
    ],
)
def test_a_gate_fails_a_test(tmp_path, gate, status, said):
    kept = write_audit(audit(judged("lime"), judged("ig", "cannot tell")), tmp_path / "audit.json")
    (tmp_path / "gate.toml").write_text('[verdict]\nig = "may be shown"\n')
    done = run(tmp_path, TEST.format(subject=str(kept), gate=gate, baseline=None))
    assert done.returncode == status, done.stdout + done.stderr
    assert said in done.stdout
    assert "Traceback" not in done.stdout


def test_a_baseline_is_compared(tmp_path):
    before = write_audit(audit(judged("lime")), tmp_path / "before.json")
    now = write_audit(audit(judged("lime", "must not be shown")), tmp_path / "now.json")
    gate = "[baseline]\nno_worse = true"
    assert run(tmp_path, TEST.format(subject=str(before), gate=gate, baseline=str(before))).returncode == 0
    worse = run(tmp_path, TEST.format(subject=str(now), gate=gate, baseline=str(before)))
    assert worse.returncode == 1
    assert "it was 'may be shown' and is 'must not be shown'" in worse.stdout


def test_a_model_is_audited_and_kept_in_the_cache(tmp_path):
    code = """
def predict(texts):
    return [[0.9, 0.1] if "bad" in text else [0.2, 0.8] for text in texts]

def test_explanations(trueness_gate):
    words = "the a film story with plot scene of".split()
    texts = [" ".join([words[n % 8], words[n % 7], ["bad", "fine"][n % 2], words[n % 5], str(n)]) for n in range(40)]
    found = trueness_gate(
        predict, texts, gate="foils_must_fail = false\\nrequire_any = 1\\ncannot_tell = 'pass'",
        explainers=["leave-one-out"], workers=0, examples=30, repeat_examples=30, edit_examples=2, alone_examples=2,
    )
    assert found.model == "test_it:predict"
"""
    (tmp_path / "pytest.ini").write_text("[pytest]\ncache_dir = kept\n")
    (tmp_path / "test_it.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "trueness.api.pytest_plugin", "test_it.py"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tmp_path / "kept").rglob("trueness-store.json"))
