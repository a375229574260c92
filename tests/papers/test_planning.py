"""Nonsense is refused when a study is planned, before any task runs."""

import pytest

import trueness as tn
from trueness.errors import UserError

STUDIES = ("attention-is-not-explanation", "attefa", "agreement", "recursive-roar", "dry-run")


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"hidden": -5}, "hidden should be greater"),
        ({"hidden": "many"}, "hidden should be a valid integer"),
        ({"activation": "sine"}, "activation should be"),
        ({"normaliser": "sine"}, "normaliser should be"),
    ],
)
def test_shapes(study, shape, message, folder, tmp_path):
    settings = {"datasets": str(folder), "models": "bilstm-additive", "vectors": "none", "seeds": 1, "shape": shape}
    with pytest.raises(UserError, match=message):
        tn.plan(study, store=tmp_path / "store", **settings)
    assert tn.plan(study, store=tmp_path / "store", **{**settings, "shape": {"hidden": 8}}).tasks


@pytest.mark.parametrize("study", STUDIES)
def test_files_that_are_no_word_vectors(study, folder, tmp_path):
    passwd = tmp_path / "passwd"
    passwd.write_text("root:x:0:0:root:/root:/bin/sh\nmail:x:8:8:The Mail:/var/mail:/bin/sh\n")
    settings = {"datasets": str(folder), "models": "bilstm-additive", "seeds": 1}
    with pytest.raises(UserError, match="passwd, line 2: expected a word and its numbers"):
        tn.plan(study, store=tmp_path / "store", **settings, vectors=str(passwd))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("text,label,evidence\na b,1,\na b,007,\n", "row 3: the label is a number that is not whole, or not written"),
        ('text,label,evidence\na b,1,"[[0.5,1.9]]"\n', "row 2: the evidence is not a list of token spans"),
    ],
)
def test_rows_that_would_mean_something_else(rows, message, tmp_path):
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.csv").write_text(rows)
    with pytest.raises(UserError, match=message):
        tn.plan("dry-run", store=tmp_path / "store", datasets=str(tmp_path))
