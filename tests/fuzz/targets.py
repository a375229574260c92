"""What is fuzzed: for each target a strategy of inputs, and how one of them is taken in."""

import contextlib
import functools
import gzip
import io
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from tests.fuzz.inputs import TEXT, changed_json, mangled, texts, values
from trueness.errors import UserError


@dataclass(frozen=True)
class Target:
    """Inputs, how one is taken in within an empty folder, and their share of all."""

    inputs: Any
    feed: Any
    share: int


class RefusedError(Exception):
    """The command line refused, with status 1 or 2."""


SUFFIXES = (".jsonl", ".csv", ".jsonl.gz", ".csv.gz", ".parquet")
ROWS = [{"text": "a good film", "label": 1, "evidence": [[1, 2]]}, {"text": "a bad film", "label": 0}]
WORDS = ("bad", "film", "good")


# Data files


@functools.cache
def data_file(suffix: str) -> bytes:
    file = io.BytesIO()
    if suffix == ".parquet":
        pd.DataFrame({"text": ["a good film", "a bad film"] * 9, "label": [1, 0] * 9}).to_parquet(file)
    elif suffix.startswith(".csv"):
        file.write(b"text,label\n" + b"a good film,1\na bad film,0\n" * 4)
    else:
        file.write("".join(json.dumps(row) + "\n" for row in ROWS * 4).encode())
    return gzip.compress(file.getvalue(), mtime=0) if suffix.endswith(".gz") else file.getvalue()


def records() -> Any:
    keys = st.sampled_from(["text", "label", "text_b", "evidence", "other"])
    return st.dictionaries(keys, values, max_size=4).map(lambda row: {"text": "a film", "label": 1, **row})


def as_jsonl(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_csv(rows: list[Any]) -> bytes:
    cells = [f"{row.get('text')},{row.get('label')},{row.get('evidence', '')}\n" for row in rows]
    return ("text,label,evidence\n" + "".join(cells)).encode(errors="surrogatepass" if len(rows) % 2 else "replace")


data_files = st.one_of(
    st.sampled_from(SUFFIXES).flatmap(lambda suffix: st.tuples(st.just(suffix), mangled(data_file(suffix)))),
    st.tuples(st.just(".jsonl"), st.lists(records(), max_size=4).map(as_jsonl)),
    st.tuples(st.just(".csv"), st.lists(records(), max_size=4).map(as_csv)),
    st.tuples(st.sampled_from(SUFFIXES), st.binary(max_size=60)),
    st.tuples(st.just(".csv"), texts.map(lambda text: text.encode("utf-16", errors="replace"))),
)


def take_data(given: tuple[str, bytes], folder: Path) -> None:
    from trueness.kinds import check_data
    from trueness.kinds.text.data.datasets import load_text

    path = folder / f"train{given[0]}"
    path.write_bytes(given[1])
    shown(check_data(str(path)))
    load_text(str(path))


def shown(found: dict[str, Any]) -> None:
    from trueness.cli.options import put

    with contextlib.redirect_stdout(io.StringIO()) as out:
        put(False, found, "dataset")
        put(True, found, "dataset")
    out.getvalue().encode()
    assert "\x1b" not in out.getvalue(), "an escape sequence reaches the terminal"


# Original formats of corpora


def take_corpus(given: tuple[str, bytes], folder: Path) -> None:
    from trueness.kinds.text.data.babi import read_babi
    from trueness.kinds.text.data.beer import read_beer
    from trueness.kinds.text.data.mock import mock as make_mock
    from trueness.kinds.text.data.trees import read_trees

    kind, content = given
    name = {"beer": "reviews.aspect0.train.txt", "lexicon": "positive-words.txt"}.get(kind, "file.txt")
    (folder / name).write_bytes(content)
    (folder / "negative-words.txt").write_bytes(content[::-1])
    if kind == "beer":
        read_beer(folder)
    elif kind == "lexicon":
        make_mock("mock-1", lexicon=folder, train=2, test=2)
    else:
        list((read_babi if kind == "babi" else read_trees)(folder / name))


CORPORA = {
    "babi": b"1 Mary went home.\n2 Where is Mary?\thome\t1\n",
    "trees": b"(3 (2 A) (3 good))\n(0 (1 Bad) (2 one))\n",
    "beer": b"0.9 0.1 0.2 0.3 0.4\ta fine beer\n0.1 0.1 0.2 0.3 0.4\ta dull beer\n",
    "lexicon": b"; words\ngood\nfine\n",
}
corpora = st.sampled_from(sorted(CORPORA)).flatmap(lambda kind: st.tuples(st.just(kind), mangled(CORPORA[kind])))


# Word vectors


def archive(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@functools.cache
def vector_files() -> list[tuple[str, bytes]]:
    numbers = np.ones((3, 2), dtype=np.float32)
    frame = io.BytesIO()
    pd.DataFrame({"word": WORDS, "x": [1.0, 2, 3]}).to_parquet(frame)
    other = io.BytesIO()
    pd.DataFrame({"word": WORDS, "x": WORDS}).to_parquet(other)
    array = io.BytesIO()
    np.save(array, numbers)
    text = b"3 2\nbad 1 2\nfilm 3 4\ngood 5 6\n"
    return [
        (".txt", text),
        (".txt.gz", gzip.compress(text, mtime=0)),
        (".npz", archive(words="\n".join(WORDS), vectors=numbers)),
        (".npz", archive(words=np.array(WORDS), vectors=np.array([["a", "b"]] * 3))),
        (".npz", archive(words=np.array(WORDS, dtype=object), vectors=numbers)),
        (".npz", archive(words=np.array(WORDS), vectors=np.array([[1, None]] * 3, dtype=object))),
        (".npz", archive(words=np.array([WORDS]), vectors=numbers[:, 0])),
        (".npz", array.getvalue()),
        (".parquet", frame.getvalue()),
        (".parquet", other.getvalue()),
    ]


vectors = st.deferred(
    lambda: st.sampled_from(vector_files()).flatmap(lambda file: st.tuples(st.just(file[0]), mangled(file[1])))
)


def take_vectors(given: tuple[str, bytes], folder: Path) -> None:
    from trueness.kinds.text.data.coding import SPECIAL
    from trueness.kinds.text.data.vocabulary import Vocabulary
    from trueness.kinds.text.data.word_vectors import check_vectors, load_vectors

    path = folder / f"vectors{given[0]}"
    path.write_bytes(given[1])
    with contextlib.suppress(UserError):
        check_vectors(path)
    table, _ = load_vectors(path, Vocabulary((*SPECIAL, *WORDS)))
    assert np.isfinite(table).all(), "vectors that are not finite are taken"


# Models


@functools.cache
def checkpoint() -> Path:
    """A folder with a small model of ours."""
    from trueness.kinds.text.data.coding import SPECIAL
    from trueness.kinds.text.data.preparation import Preparation
    from trueness.kinds.text.data.vocabulary import Vocabulary
    from trueness.kinds.text.models.attentive import AttentiveClassifier, AttentiveConfig
    from trueness.kinds.text.models.text_model import TextModel

    vocabulary = Vocabulary((*SPECIAL, *WORDS))
    network = AttentiveClassifier(AttentiveConfig(len(vocabulary), 2, embedding=4, hidden=4))
    model = TextModel(network, vocabulary, ("0", "1"), Preparation(), ({"epoch": 1.0},), ("a note",))
    return model.save(tempfile.mkdtemp())


@functools.cache
def transformer() -> Path:
    """A folder with a tiny BERT."""
    from tests.models.transformers import model, tokenizer

    folder = tempfile.mkdtemp()
    model("bert").float().save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return Path(folder)


def spoiled(folder: Path) -> Any:
    """One file of the folder changed, as bytes or as JSON."""

    def change(name: str) -> Any:
        content = (folder / name).read_bytes()
        some = mangled(content)
        if name.endswith(".json"):
            some = changed_json(content.decode()).map(lambda text: text.encode()) | some
        return st.tuples(st.just(name), some)

    return st.sampled_from(sorted(path.name for path in folder.iterdir())).flatmap(change)


def take_model(source: Any, given: tuple[str, bytes], folder: Path) -> None:
    import trueness as tn

    shutil.copytree(source(), folder / "model")
    (folder / "model" / given[0]).write_bytes(given[1])
    model = tn.load_model(folder / "model")
    (found,) = tn.explain(model, ["good film"], "input-x-gradient")
    assert np.isfinite([found.probability, *found.scores]).all(), "what is not finite is shown"


# Study files and settings


def study_texts() -> Any:
    from trueness.api import studies  # noqa: F401  # fills the registry of studies
    from trueness.studies import builtin_studies

    return st.sampled_from(sorted(builtin_studies().items())).flatmap(
        lambda item: mangled(item[1].encode()) | lines_changed(item[1])
    )


def lines_changed(text: str) -> Any:
    """A study file with a value of its own replaced."""
    lines = text.splitlines()
    places = [number for number, line in enumerate(lines) if "=" in line and not line.startswith("#")]

    def put(drawn: tuple[int, Any]) -> bytes:
        number, value = drawn
        key = lines[number].partition("=")[0]
        return "\n".join([*lines[:number], f"{key}= {value}", *lines[number + 1 :]]).encode(errors="surrogatepass")

    literals = texts | values.map(lambda value: json.dumps(value, default=str))
    return st.tuples(st.sampled_from(places), literals).map(put)


def take_study(given: bytes, folder: Path) -> None:
    from trueness.studies import load_study

    (folder / "study.toml").write_bytes(given)
    load_study(folder / "study.toml")


def settings() -> Any:
    from trueness.api import studies  # noqa: F401
    from trueness.studies import KINDS, builtin_studies

    names = sorted(builtin_studies())
    keys = sorted(
        {key for kind in KINDS for key in KINDS[kind].schema.model_fields}
        | {"store", "shape.hidden", "shape.activation", "a.b"}
    )
    literals = texts | values.map(lambda value: json.dumps(value, default=str))
    return st.tuples(st.sampled_from(names), st.sampled_from(keys) | st.text(max_size=6), literals)


def take_setting(given: tuple[str, str, str], folder: Path) -> None:
    from trueness.studies import load_study, parse_setting, plan

    name, key, value = given
    study = load_study(name, dict([parse_setting(f"{key}={value}")]))
    if len(study.seeds) <= 10:  # more of them is more work, and no other
        plan(study)


# Command lines: only such as do no work where they are valid


COMMANDS = [
    "list",
    "data check",
    "plan",
    "report",
    "compare",
    "explain",
    "adversarial-attention",
    "agreement",
    "attefa",
    "train",
    "fine-tune",
]
PLACES = ["MODEL", "TRANSFORMER", "DATA", "roar-synthetic", "attefa", "bilstm-dot"]
OPTIONS = {
    "--set": ["hidden=0", "hidden=-5", "hidden=8", "seed=3", "store=x", "workers=2", "seeds=2", "data.train=0"],
    "--text": ["good film", "\udcff", ""], "--text-b": ["film"], "--explainer": ["attention", "lime", "random"],
    "--data": ["DATA", "MODEL", "nowhere"], "--store": ["DATA", "MODEL", "nowhere"], "--out": ["DATA", "out"],
    "--seed": ["-1", "0", "x"], "--workers": ["0", "1"], "--device": ["cpu", "cuda:99", "x"], "--split": ["test", "x"],
    "--epsilon": ["-1", "nan", "0.1"], "--target": ["gold", "7", "0"], "--html": ["DATA", "MODEL", "heat.html"],
    "--instances": ["2", "-2"], "--root": ["DATA"], "--recipe": ["default", "x"], "--vectors": ["/etc/passwd", "DATA"],
}  # fmt: skip


def command_lines() -> Any:
    """A command, sometimes what it takes, and options."""
    hostile = st.sampled_from(TEXT[:-1]) | st.text(max_size=12)
    option = st.sampled_from(sorted(OPTIONS)).flatmap(
        lambda name: st.tuples(st.just(name), st.sampled_from(OPTIONS[name]) | hostile)
    )
    return st.tuples(
        st.sampled_from(COMMANDS).map(str.split) | hostile.map(lambda text: [text]),
        st.lists(st.sampled_from(PLACES) | hostile, max_size=2),
        st.lists(option, max_size=4).map(lambda some: [item for pair in some for item in pair]),
        st.sampled_from([[], ["--json"], ["--help"]]),
    ).map(lambda parts: [item for part in parts for item in part])


def take_command(given: list[str], folder: Path) -> None:
    from trueness.cli import main

    (folder / "data.csv").write_bytes(data_file(".csv"))
    places = {"MODEL": str(checkpoint()), "TRANSFORMER": str(transformer()), "DATA": str(folder / "data.csv")}
    arguments = [places.get(item, item) for item in given]

    def crash(error: Exception, _: Any) -> str:
        raise error

    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        mock.patch.object(main, "_unexpected", crash),
    ):
        try:
            main.main(arguments)
        except SystemExit as end:
            if end.code not in (0, 1, 2, None):
                raise AssertionError(f"exit status {end.code}") from end
            if end.code:
                raise RefusedError from None


TARGETS: dict[str, Target] = {
    "data files": Target(data_files, take_data, 30),
    "original corpora": Target(corpora, take_corpus, 8),
    "word vectors": Target(vectors, take_vectors, 12),
    "study files": Target(st.deferred(study_texts), take_study, 12),
    "settings": Target(st.deferred(settings), take_setting, 22),
    "command lines": Target(st.deferred(command_lines), take_command, 6),
    "checkpoints": Target(st.deferred(lambda: spoiled(checkpoint())), functools.partial(take_model, checkpoint), 8),
    "model folders": Target(st.deferred(lambda: spoiled(transformer())), functools.partial(take_model, transformer), 2),
}
