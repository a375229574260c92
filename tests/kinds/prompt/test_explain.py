"""`tn.explain` and `trueness explain` of a language model."""

import json

import pytest

import trueness as tn
from tests.kinds.prompt.models import CONTEXTS, QUESTION
from tests.kinds.prompt.test_prompt_explainers import conflict
from trueness.cli.main import main
from trueness.kinds.prompt.models.opening import open_model
from trueness.kinds.prompt.models.tiny import tiny_model


def test_passages_of_a_model_built_by_hand():
    from tests.kinds.prompt.models import copier

    example, source = conflict(3)
    (found,) = tn.explain(copier(), example, "leave-one-out")
    assert len(found.scores) == len(example.contexts)
    assert max(range(6), key=lambda number: found.scores[number]) == source
    assert (found.target, found.predicted) == ("answer", "answer")


def test_a_pair_is_a_language_model():
    found = tn.load_model(tiny_model())
    assert found.kind == "prompt"
    (one,) = tn.explain(found, {"question": QUESTION, "contexts": list(CONTEXTS)}, "context-cite")
    assert len(one.scores) == len(CONTEXTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("prompt")
    open_model(tiny_model(texts=CONTEXTS)).save(place / "model")
    (place / "passages").mkdir()
    for number, text in enumerate(CONTEXTS):
        (place / "passages" / f"{number}.txt").write_text(text + "\n")
    (place / "passages" / ".hidden").write_text("not read")
    (place / "all.txt").write_text("\n\n".join(CONTEXTS))
    return place


def explained(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["explain", *map(str, arguments), "--json"])
    assert not ended.value.code
    return json.loads(capsys.readouterr().out)


def test_command(folder, capsys):
    asked = (folder / "model", "--question", QUESTION, "--explainer", "leave-one-out")
    by_folder = explained(capsys, *asked, "--context", folder / "passages")
    by_file = explained(capsys, *asked, "--context", folder / "all.txt")
    assert by_folder == by_file
    (found,) = by_folder
    assert len(found["scores"]) == len(found["tokens"]) == len(CONTEXTS)
    (given,) = explained(capsys, *asked, "--context", folder / "all.txt", "--answer", "red")
    assert given["scores"] != found["scores"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--text, or with --question"),
        (("--context", "all.txt"), "belong to --question"),
        (("--question", "Who?", "--text", "a text"), "two things"),
        (("--question", "Who?", "--context", "nowhere.txt"), "nowhere.txt"),
    ],
)
def test_refused(folder, arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["explain", str(folder / "model"), *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err.replace("\n", " ")
