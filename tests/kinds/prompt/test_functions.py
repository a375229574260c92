import time

import numpy as np
import pytest

from tests.kinds.prompt.subjects import first_copier, questions
from trueness.errors import UserError
from trueness.kinds.prompt.data.answers import kept_share, told_apart
from trueness.kinds.prompt.data.prompts import PromptExample, PromptExamples
from trueness.kinds.prompt.data.reading import PromptData
from trueness.kinds.prompt.models.calls import Reply, Service, reply_of, scrubbed
from trueness.kinds.prompt.models.functions import SURE, likelihood, open_function

ASKED = ("Who?", ("Ann won.", "It rained."))


@pytest.mark.parametrize(
    ("found", "reply"),
    [
        ("Ann", Reply("Ann")),
        (("Ann", [1]), Reply("Ann", (1,))),
        (("Ann", [0, 0, 5]), Reply("Ann", (0,), missing=1)),
        (("Ann", None, -0.5), Reply("Ann", likelihood=np.exp(-0.5))),
        ({"answer": "Ann", "citations": [], "logprob": [-1.0, -3.0]}, Reply("Ann", (), np.exp(-2.0))),
    ],
)
def test_every_format_of_an_answer_is_read(found, reply):
    assert reply_of(found, 2, "f") == reply


@pytest.mark.parametrize("found", [None, 3, {"text": "Ann"}, ("Ann", ["one"]), ("Ann", [True]), ("Ann", [0], "high")])
def test_another_format_is_refused_in_one_sentence(found):
    with pytest.raises(UserError, match=r"^f returned .*: give the answer as text, \(answer, citations\)"):
        reply_of(found, 2, "f")


def test_a_probability_above_one_is_refused():
    with pytest.raises(UserError, match=r"returned the log-probability 0\.5"):
        reply_of(("Ann", [], 0.5), 2, "f")


def failing(times, error, **settings):
    calls = []

    def answer(question, contexts):
        calls.append(question)
        if len(calls) <= times:
            raise error
        return "Ann"

    for name, value in {"wait": 0.0, **settings}.items():
        setattr(answer, name, value)
    return Service("rag.py:answer", answer), calls


class RateLimitError(Exception):
    status_code = 429


def test_a_rate_limit_is_waited_for_up_to_a_stated_number_of_tries():
    service, calls = failing(2, RateLimitError("slow down"))
    assert service.replies([ASKED, ASKED]) == [Reply("Ann")] * 2
    assert len(calls) == 3
    service, calls = failing(9, RateLimitError("slow down"), tries=3)
    with pytest.raises(UserError, match=r"gave no answer in 3 tries: RateLimitError: slow down; try again later"):
        service.replies([ASKED])
    assert len(calls) == 3


def test_an_error_that_stays_is_told_at_once():
    service, calls = failing(9, ValueError("no such model"))
    with pytest.raises(
        UserError,
        match=r"rag.py:answer failed \(.*test_functions.py.*\): ValueError: no such model|failed.*no such model",
    ):
        service.replies([ASKED])
    assert len(calls) == 1


def test_a_call_that_takes_too_long_is_given_up():
    def answer(question, contexts):
        time.sleep(5)

    answer.timeout, answer.tries, answer.wait = 0.05, 2, 0.0
    began = time.monotonic()
    with pytest.raises(UserError, match=r"no answer in 2 tries: took longer than 0.05 s"):
        Service("f", answer).replies([ASKED])
    assert time.monotonic() - began < 2


def test_calls_beside_one_another_keep_their_order():
    def answer(question, contexts):
        time.sleep(0.02 * (question == "0"))
        return question

    answer.at_once = 4
    asked = [(str(number), ()) for number in range(8)]
    assert [one.answer for one in Service("f", answer).replies(asked)] == [str(number) for number in range(8)]


def test_no_key_is_told(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "abcdefgh12345678")
    told = scrubbed(
        "401: key abcdefgh12345678 and sk-proj-AAAABBBBCCCC and Authorization: Bearer xyz.abc wrong?key=zzz&a=1"
    )
    assert not any(part in told for part in ("abcdefgh", "AAAABBBB", "xyz.abc", "zzz"))
    service, _ = failing(9, PermissionError("sk-live-0123456789 is not valid"))
    with pytest.raises(UserError) as error:
        service.replies([ASKED])
    assert "0123456789" not in str(error.value)
    chain = error.value
    while chain.__cause__ is not None:
        chain = chain.__cause__
    assert error.value.__suppress_context__
    assert "0123456789" not in repr(service)


@pytest.mark.parametrize(
    ("answer", "said", "share"),
    [
        ("Ann", "It was Ann.", 1.0),
        ("Ann", "Hannah", 0.0),
        ("3.5", "about 3.5 m", 1.0),
        ("3.5", "35", 0.0),
        ("one two three four five six seven eight", "one two three four", 2 / 3),
        ("", "", 1.0),
    ],
)
def test_how_much_of_an_answer_comes_again(answer, said, share):
    assert kept_share(answer, said) == pytest.approx(share)


def test_alternatives_are_told_apart_by_their_own_words():
    assert told_apart("The code is 1", ["The code is 2"], "code: 1") == 1.0
    assert told_apart("The code is 1", ["The code is 2"], "code: 2") == 0.0
    assert told_apart("The code is 1", ["The code is 2"], "1 or 2") == 0.5
    assert told_apart("The code is 1", ["The code is 2"], "no idea") == 0.5


def test_where_a_service_gives_probabilities_these_count():
    example = PromptExample("q", answer="Ann")
    assert likelihood(example, Reply("Ann", likelihood=0.7)) == pytest.approx(0.7)
    assert likelihood(example, Reply("Ben", likelihood=0.7)) == pytest.approx(0.3)
    assert likelihood(example, Reply("Ann")) == SURE


def test_hiding_the_copied_passage_changes_the_answer_and_no_other_does():
    import torch

    contexts = ("Rain.", "The code of the red box is 4711.", "Sun.")
    model = open_function(first_copier)
    (example,) = model.answered([PromptExample("What is the code of the red box?", contexts)])
    assert (example.answer, example.citations) == ("The code is 4711.", (1,))
    split = model.coded(PromptExamples([example]))
    batch = split.batch([0, 0, 0])
    chance = model.network.logits(batch.hide(torch.eye(3, dtype=torch.bool))).softmax(dim=-1)[:, 0]
    assert chance.tolist() == pytest.approx([SURE, 1 - SURE, SURE])
    assert model.coded(questions(1)).sizes.tolist() == [6]


def test_a_function_that_answers_at_random_is_refused_and_one_that_wavers_is_told():
    count = iter(range(10_000))

    def answer(question, contexts):
        return f"answer {next(count)}"

    with pytest.raises(UserError, match=r"another answer to each of 5 questions .* temperature to 0"):
        PromptData().look(list(questions(8)), open_function(answer))

    seen = set()

    def wavering(question, contexts):
        again = question in seen
        seen.add(question)
        return "other" if again and question.startswith("Question 1") else "same"

    found = PromptData().look(list(questions(8)), open_function(wavering))
    assert "1 of 5 answers were other ones when the function was asked again" in found.notes


def test_a_function_takes_a_question_and_passages():
    with pytest.raises(UserError, match="must take a question and a list of passages"):
        open_function(lambda texts: texts)
