"""Other people's code, from files outside the package, reaches everything: commands, functions, studies, engines."""

import shutil
from pathlib import Path

import pytest

import trueness as tn
from tests.command import separately
from tests.engine.test_clusters import digests, parsl_config
from trueness.audits.study import AuditStudy
from trueness.audits.subject import family_of
from trueness.engine import LocalExecutor, open_engine
from trueness.studies import builtin_studies

HERE = Path(__file__).parent
STUDY = """
kind = "counting.py:KIND"
name = "counting"
title = "Counting"
question = "How much does the first token hold?"
paper = "nobody"
seeds = 2
datasets = "theirs.py:films"
models = "theirs.py:Bag"
explainers = ["random", "theirs.py:later", "theirs.py:Earlier[power=2.0]", "blurred[theirs.py:later]"]
"""
SMALL = {"vectors": "none", "recipe": "dry-run", "seeds": [0]}


@pytest.fixture
def outside(tmp_path):
    """A folder that is nobody's package, with a study file beside the files it names."""
    folder = tmp_path / "their folder"
    folder.mkdir()
    for name in ("theirs.py", "counting.py"):
        shutil.copy(HERE / "door" / name, folder)
    (folder / "counting.toml").write_text(STUDY)
    return folder


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    """The local pool, Dask and Parsl, two workers each, opened once."""
    from distributed import LocalCluster

    folder = tmp_path_factory.mktemp("parsl")
    (folder / "config.py").write_text(parsl_config(folder / "runs"))
    local = LocalExecutor(["cpu", "cpu"])
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0")
    dask, parsl = f"dask:{cluster.scheduler_address}", f"parsl:{folder / 'config.py'}"
    with local, cluster, open_engine(dask) as on_dask, open_engine(parsl) as on_parsl:
        yield {"local": local, "dask": on_dask, "parsl": on_parsl}


def run_on_every_engine(study, engines, folder, **settings):
    """Run a study on each, report and compare it; the results are the same, and those of one are returned."""
    runs = {}
    for name, executor in engines.items():
        runs[name] = tn.run(study, store=folder / name, executor=executor, **settings)
        assert runs[name].summary.computed == runs[name].summary.total
        page, *_ = runs[name].report(folder / f"{name}.html")
        assert "theirs.py:later" in page.read_text()
        assert tn.compare(study, store=folder / name, **settings)["rows"] == runs[name].compare()["rows"]
    first, *others = (digests(run.stored.store) for run in runs.values())
    assert all(other == first for other in others)
    return runs["parsl"]


def test_a_study_of_outside_things_runs_on_every_engine(outside, engines, tmp_path):
    run = run_on_every_engine(outside / "counting.toml", engines, tmp_path)
    assert run.summary.total == 4
    methods = [score.method for score in run.scores]
    assert methods == ["random", "theirs.py:later", "theirs.py:Earlier[power=2.0]", "blurred[theirs.py:later]"]
    values = {score.method: score.value for score in run.scores}
    assert values["theirs.py:Earlier[power=2.0]"] > values["theirs.py:later"]


@pytest.mark.parametrize(
    ("study", "settings"),
    [
        ("agreement", {"instances": 6, "slow_instances": 0, "as_published": False, "uniform": False}),
        ("recursive-roar", {"steps": [0.5], "bounded": 0, "companion": False, "leak": False}),
        ("dry-run", {"plantings": "token-with-decoy", "instances": 6}),
    ],
)
def test_our_studies_take_outside_things_on_every_engine(study, settings, outside, engines, tmp_path):
    file = outside / f"{study}.toml"
    file.write_text(builtin_studies()[study])
    theirs = ["theirs.py:later", "theirs.py:Earlier[power=3.0]"]
    how = {"datasets": "theirs.py:films", "models": "theirs.py:Bag", "explainers": ["gradient", *theirs]}
    run = run_on_every_engine(file, engines, tmp_path, **SMALL, **how, shape={"sharpness": 2.0}, **settings)
    records = run.to_pandas()
    assert set(records["model"]) == {"theirs.py:Bag"}
    found = {name for column in ("method", "first", "second") if column in records for name in records[column]}
    assert {"gradient", *theirs} <= found
    assert not any(name in item.quantity for item in run.abstentions for name in theirs)


def test_a_change_of_the_source_is_computed_and_undone(outside, tmp_path):
    def computed():
        return tn.run(outside / "counting.toml", store=tmp_path / "store", workers=1).summary.computed

    assert computed() == 4
    assert computed() == 0
    original = (outside / "theirs.py").read_text()
    edit(outside / "theirs.py", ".float().expand(batch.mask.shape) + 1", ".float().expand(batch.mask.shape) + 2")
    assert computed() == 4, "the dataset and the model are in the same file"
    (outside / "theirs.py").write_text(original)
    assert computed() == 0
    edit(outside / "counting.py", "Its share", "The share")
    assert computed() == 2, "the tasks of the study's own file"


def test_it_is_reported_compared_and_opened_again(outside, tmp_path, monkeypatch):
    store = tmp_path / "store"
    tn.run(outside / "counting.toml", store=store, workers=1)
    page, *_ = tn.open_run(outside / "counting.toml", store=store).report(tmp_path / "report.html")
    assert "theirs.py:Earlier[power=2.0]" in page.read_text()
    assert "The first token" in page.read_text()
    compared = tn.compare(outside / "counting.toml", store=store)
    assert len(compared["rows"]) == 4
    monkeypatch.chdir(outside)
    for command in ("plan", "report", "compare"):
        done = separately(command, "counting.toml", "--store", str(store))
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    address = HERE / "door" / "theirs.py"
    trained = tn.train(f"{address}:Bag", f"{address}:films", recipe="dry-run")
    trained.save(folder)
    return folder, tn.evaluate(trained, tn.load_dataset(f"{address}:films"))


def test_a_saved_model_of_theirs_is_loaded_and_explained(model, outside):
    folder, measured = model
    loaded = tn.load_model(folder, family=f"{outside}/theirs.py:Bag")
    assert tn.evaluate(loaded, tn.load_dataset(f"{outside}/theirs.py:films")) == measured
    (mine,) = tn.explain(loaded, ["a good film"], f"{outside}/theirs.py:later")
    assert mine.scores == (2, 3, 4)
    with pytest.raises(tn.UserError, match=r"names the family .theirs.py:Bag., which is not registered"):
        tn.load_model(folder, family="bilstm-additive")


def test_the_workers_of_an_audit_hear_of_a_family_that_this_process_alone_knows(model):
    folder, _ = model
    for given in (None, f"{HERE}/door/theirs.py:Bag"):
        found = family_of(folder, given)
        assert found == "theirs.py:Bag"
        (source,) = found.sources
        assert source.address.endswith("/theirs.py:Bag")
    asked = {"kind": "audit", "name": "audit", "title": "", "question": "", "paper": ""}
    study = AuditStudy(**asked, models=[str(folder)], datasets=["mine.csv"], explainers=["lime"], family=found)
    assert family_of(folder, study.family).sources == found.sources


def test_explain_agreement_and_dry_run_take_their_explainer(folder, outside, tmp_path):
    ours = tn.train("average-additive", str(folder), recipe="dry-run", hidden=8, embedding=8)
    ours.save(tmp_path / "ours")
    later = f"{outside}/theirs.py:later"
    found = tn.agreement(ours, tn.load_dataset(str(folder)), ["attention", later, f"{outside}/theirs.py:Earlier"])
    assert any("theirs.py:Earlier" in score.method for score in found.scores)
    shown = separately("explain", str(tmp_path / "ours"), "--text", "x good y", "--explainer", later, "--json")
    assert shown.returncode == 0, shown.stderr
    both = ("--explainer", "attention", "--explainer", later)
    agreed = separately("agreement", str(tmp_path / "ours"), "--data", str(folder), *both)
    assert agreed.returncode == 0, agreed.stderr
    assert "later" in agreed.stdout
    settings = {"models": "average-additive", "plantings": "token-with-decoy", "seeds": 1, "instances": 10}
    dry = tn.dry_run(
        f"{outside}/theirs.py:films", store=tmp_path / "dry", workers=1, explainers=["random", later], **settings
    )
    assert set(dry.to_pandas()["method"]) <= {"random", "theirs.py:later"}


def test_what_no_worker_can_import_is_refused_before_work_starts(folder, tmp_path):
    @tn.explainer("only-here")
    def only_here(model, batch, target):
        """In a test."""
        return batch.mask.float()

    with pytest.raises(tn.UserError, match="put it into a file of its own"):
        tn.run("recursive-roar", store=tmp_path / "s", datasets=str(folder), explainers=["only-here"], **SMALL)
    assert not (tmp_path / "s").exists()
    ours = tn.train("average-additive", str(folder), recipe="dry-run", hidden=8, embedding=8)
    assert tn.explain(ours, ["x good"], "only-here")[0].scores == (1, 1), "this process knows it"
    assert tn.explain(ours, ["x good"], lambda model, batch, target: 2 * batch.mask.float())[0].scores == (2, 2)


def test_an_error_in_their_explainer_is_no_abstention(outside, folder, tmp_path):
    edit(outside / "theirs.py", "place.float().expand(batch.mask.shape) + 1", "place / no_such_name")
    how = {**SMALL, "steps": [0.5], "bounded": 0, "companion": False, "workers": 1}
    with pytest.raises(tn.TasksFailedError, match="NameError"):
        tn.run(
            "recursive-roar", store=tmp_path / "s", datasets=str(folder), explainers=f"{outside}/theirs.py:later", **how
        )
    edit(outside / "theirs.py", "place / no_such_name", "1 / 0 * place")
    edit(outside / "theirs.py", "import torch\n", "import torch\n\nfrom trueness import Unsupported\n")
    edit(outside / "theirs.py", "return 1 / 0 * place", 'raise Unsupported("later needs more.")')
    run = tn.run(
        "recursive-roar",
        store=tmp_path / "s",
        datasets=str(folder),
        explainers=["gradient", f"{outside}/theirs.py:later"],
        **how,
    )
    assert [(item.quantity, item.reason) for item in run.abstentions if "later" in item.quantity] == [
        ("theirs.py:later", "later needs more")
    ]
