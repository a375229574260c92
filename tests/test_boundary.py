import functools
import json
import signal
from dataclasses import dataclass

import pytest

from trueness.boundary import (
    Interrupt,
    because,
    calling,
    check_fields,
    exists,
    importing,
    is_file,
    printable,
    quoted,
    read_json,
    reading,
    whole,
)
from trueness.errors import UserError


class PanicException(BaseException):  # named as in libraries written in Rust
    pass


@pytest.mark.parametrize(
    "error", [ValueError("a\nb"), KeyError(), RecursionError(), MemoryError(), PanicException("p")]
)
def test_whatever_a_library_raises_is_one_sentence(error):
    with pytest.raises(UserError, match=r"^file\.x cannot be read \([^\n]+\)\.$"), reading("file.x"):
        raise error


def test_interruptions_and_our_own_words_pass():
    with pytest.raises(KeyboardInterrupt), reading("file.x"):
        raise KeyboardInterrupt
    with pytest.raises(UserError, match=r"^mine$"), reading("file.x"):
        raise UserError("mine")


def helper():
    return {}["word"]


class Theirs:
    def __call__(self):
        return helper()


@pytest.mark.parametrize("code", [helper, functools.partial(helper), Theirs(), Theirs().__call__])
def test_a_mistake_in_code_of_others_names_its_line(code):
    line = helper.__code__.co_firstlineno + 1
    told = rf"^mine failed, test_boundary\.py line {line}: KeyError: 'word'\.$"
    with pytest.raises(UserError, match=told), calling("mine", code):
        code()


def test_a_mistake_in_code_without_a_file_has_no_line():
    with pytest.raises(UserError, match=r"^int failed: ValueError: invalid literal"), calling("int", int):
        int("x")
    with pytest.raises(UserError, match=r"^mine failed: KeyError\.$"), calling("mine", None):
        raise KeyError


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory"), Interrupt()])
def test_a_lack_of_memory_is_no_mistake(error):
    with pytest.raises(type(error)), calling("mine", helper):
        raise error


ENDS = [SystemExit(0), SystemExit(), SystemExit("text"), KeyboardInterrupt(), PanicException("p")]


@pytest.mark.parametrize("error", ENDS)
@pytest.mark.parametrize("enter", [calling, importing])
def test_code_that_ends_the_program_has_failed(error, enter, listening):
    with (
        pytest.raises(UserError, match=rf"^mine (failed|cannot be imported).*{type(error).__name__}"),
        enter("mine", __file__),
    ):
        raise error
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_ends_code_of_others_once(listening, monkeypatch):
    monkeypatch.setattr("trueness.boundary._interrupted", {})
    ended = []

    def long() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.raise_signal(signal.SIGINT)  # the same one, by another way
            ended.append(True)

    with pytest.raises(Interrupt), calling("mine", long):
        long()
    assert ended
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def listening():
    """What a shell starts in the background ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("content", [b"{", b"[" * 5000, b"9" * 5000, b"\xff", b""])
def test_json_that_cannot_be_read(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.json is not valid JSON \("):
        read_json(tmp_path / "a.json")


def test_names_that_no_file_can_have(tmp_path):
    for look in (is_file, exists):
        assert not look(tmp_path / "none")
        assert look(tmp_path / "\0") is False
        with pytest.raises(UserError, match="File name too long"):
            look(tmp_path / ("a" * 300))


def test_messages_stay_short():
    deep = json.loads("[" * 900 + "]" * 900)
    assert len(quoted(deep)) < 250
    with pytest.raises(UserError) as told, reading("a" * 100_000):
        raise ValueError("b" * 100_000)
    assert len(str(told.value)) < 500


def test_notes_end_a_sentence():
    assert because(["one", "two"]) == " (one; two)"
    assert because(()) == ""


def test_what_steers_a_terminal_is_shown_as_a_sign():
    assert printable("a\x1b[31m\x9b\x07\r\u202e\ud800\x7f") == "a�[31m������"
    assert printable("line\n\tcafé 好 💥\u200d") == "line\n\tcafé 好 💥\u200d"
    assert whole("café")
    assert not whole("\udcff")


def test_fields_of_a_wrong_type_are_refused():
    @dataclass
    class Thing:
        size: int = 1

    check_fields(Thing(), "A thing")
    for value in ("1", 1.0, True, None, [1]):
        with pytest.raises(UserError, match=r"^A thing: size should be a valid integer, not "):
            check_fields(Thing(value), "A thing")
