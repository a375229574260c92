"""Audits where experiments are tracked: each tracker offline, if it is installed, and read back by its own means."""

import json
import re

import pytest

from tests.audit.fixtures import example_audit
from trueness.api.audited import AuditRun
from trueness.audits.trackers import VERDICTS, numbers, words
from trueness.errors import UserError

AUDIT = AuditRun(**dict(example_audit()))


def secrets():
    """What only the examples hold."""
    return [" ".join(one.units) for one in AUDIT.examples if one.units]


def test_numbers_have_names_that_every_tracker_takes():
    found = numbers(AUDIT)
    assert all(re.fullmatch(r"[\w./-]+", name) for name in found)
    for one in AUDIT.explainers:
        name = re.sub(r"[^\w.-]+", "-", one.explainer).strip("-")
        assert found[f"trueness/{name}/verdict"] == VERDICTS[one.decision]
        for trial in one.trials:
            key = f"trueness/{name}/{trial.name.replace(' ', '-')}/value"
            assert found.get(key) == (trial.checks[0].value if trial.checks else None)
    assert found["trueness/may_be_shown"] == len(AUDIT.may_be_shown)


def test_an_unknown_tracker_is_refused():
    with pytest.raises(UserError, match="no tracker 'mlflw'; did you mean mlflow"):
        AUDIT.log_to("mlflw")


def test_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert AUDIT.log_to("tensorboard", step=3, log_dir=str(tmp_path)) == str(tmp_path)
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    wanted = numbers(AUDIT)
    assert set(read.Tags()["scalars"]) == set(wanted)
    for name, value in wanted.items():
        (event,) = read.Scalars(name)
        assert (event.step, event.value) == (3, pytest.approx(value))
    assert not any(text.encode() in file.read_bytes() for file in tmp_path.iterdir() for text in secrets())


@pytest.mark.filterwarnings("ignore")
def test_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    run = mlflow.get_run(AUDIT.log_to("mlflow", run_name="audit"))
    assert run.data.metrics == pytest.approx(numbers(AUDIT))
    assert words(AUDIT).items() <= run.data.tags.items()
    (kept,) = tmp_path.rglob("audit.json")
    assert json.loads(kept.read_text())["examples"] == []
    with mlflow.start_run() as mine:
        assert AUDIT.log_to("mlflow") == mine.info.run_id, "the run that is open"
        assert mlflow.active_run() is not None
    assert secrets()
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or not any(text.encode() in file.read_bytes() for text in secrets())


@pytest.mark.filterwarnings("ignore")
def test_wandb(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    mine = wandb.init(project="tests", mode="offline", dir=str(tmp_path))
    assert AUDIT.log_to("wandb") == mine.id
    summary = dict(mine.summary)
    assert {name: summary[name] for name in numbers(AUDIT)} == pytest.approx(numbers(AUDIT))
    assert summary["trueness.may_be_shown"] == words(AUDIT)["trueness.may_be_shown"]
    mine.finish()
    assert AUDIT.log_to("wandb", mode="offline", dir=str(tmp_path)) != mine.id
    assert wandb.run is None
    assert list((tmp_path / "wandb").glob("offline-run-*"))


@pytest.mark.filterwarnings("ignore")
def test_the_hub_reads_the_block_of_a_model_card():
    hub = pytest.importorskip("huggingface_hub")
    card = hub.ModelCard(AUDIT.to_model_card())
    assert "## Explanations" in card.text
    assert len(card.data.eval_results) > len(AUDIT.explainers)
    assert {one.dataset_name for one in card.data.eval_results} == {AUDIT.data.split("/")[-1]}
