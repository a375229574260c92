"""Prompts as batches: which token belongs to which unit, and what is read with some hidden."""

import numpy as np
import pytest
import torch

from tests.kinds.prompt.models import ALONE, CONTEXTS, EXAMPLE, QUESTION
from trueness.errors import UserError
from trueness.kinds.prompt.data.batches import PromptSplit
from trueness.kinds.prompt.data.coding import Coder, sentences
from trueness.kinds.prompt.data.form import Form
from trueness.kinds.prompt.data.prompts import PromptExample
from trueness.kinds.prompt.models.tiny import tiny_tokenizer

PLAIN = Form(prompt="{instruction} {contexts} {question} Answer:", passage="{text}", between=" ")


def text_of(coder, batch, row=0):
    return coder.tokenizer.decode(batch.read[row][batch.kept[row]])


def split_of(coder, *examples, blank=None):
    return PromptSplit([coder.code(one, (one.answer or "red",)) for one in examples], [-1] * len(examples), blank=blank)


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("gone", [(), (0,), (3,), (0, 1, 2, 3), (1, 2)])
def test_without_a_passage_it_is_the_prompt_without_it(chat, gone):
    tokenizer = tiny_tokenizer(chat=chat)
    coder = Coder(tokenizer, PLAIN, 200)
    where = torch.tensor([[number in gone for number in range(4)]])
    batch = split_of(coder, EXAMPLE).batch([0]).hide(where)
    fewer = PromptExample(QUESTION, tuple(text for number, text in enumerate(CONTEXTS) if number not in gone))
    assert text_of(coder, batch) == tokenizer.decode(coder.code(fewer, ("red",)).tokens)
    (shown,) = batch.shown_examples()
    assert shown.contexts == fewer.contexts


def test_separators_go_with_passages():
    tokenizer = tiny_tokenizer()
    form = Form(prompt="{contexts}??{question}", passage="[{number}] {text}", between="??")
    coder = Coder(tokenizer, form, 200)
    batch = split_of(coder, EXAMPLE).batch([0]).hide(torch.tensor([[False, True, False, True]]))
    shown = text_of(coder, batch).replace(" ", "")
    assert shown == "[1]Theboatisred.??[3]Itrainedforthreedays.Thetownis<unk>.??Whatcolouristheboat?"


@pytest.mark.parametrize(
    ("units", "names"),
    [
        ("passages", CONTEXTS),
        ("sentences", ("The boat is red.", "Anna lives in a small town by the sea.", "It rained for three days.")),
        ("words", ("The", "boat", "is", "red.")),
        ("tokens", ("The", "boat", "is", "red", ".")),
    ],
)
def test_units(units, names):
    coder = Coder(tiny_tokenizer(), PLAIN, 200, units)
    split = split_of(coder, EXAMPLE)
    (coded,) = split.coded
    assert coded.names[: len(names)] == names
    batch = split.batch([0])
    first = "The" if units in ("words", "tokens") else ""  # its first token is outside
    for number, name in list(enumerate(coded.names))[bool(first) :]:
        tokens = [token for token, unit in zip(coded.tokens, coded.unit, strict=True) if unit == number]
        said = name.replace("old", "<unk>").removeprefix("The " if not number else "")
        assert coder.tokenizer.decode(tokens).replace(" ", "") == said.replace(" ", "")
    assert batch.mask[0].tolist() == [not first, *[True] * (len(coded.names) - 1)]
    assert batch.finest().groups().max() == len(coded.names) - 1 - bool(first)


def test_without_contexts_words_of_the_question_are_units():
    coder = Coder(tiny_tokenizer(), Form(prompt="Say yes or no: {text}"), 200)
    (coded,) = split_of(coder, PromptExample("a good film")).coded
    assert coded.names == ("a", "good", "film")
    assert coded.passages == (-1, -1, -1)


def test_template_and_first_token_are_outside():
    coder = Coder(tiny_tokenizer(chat=True), Form(), 200)
    (coded,) = split_of(coder, EXAMPLE).coded
    inside = [token for token, unit in zip(coded.tokens, coded.unit, strict=True) if unit >= 0]
    said = coder.tokenizer.decode(inside)
    assert "Question" not in said
    assert "assistant" not in said
    assert "[" not in said
    bare = Coder(tiny_tokenizer(), Form(prompt="{text}", chat=False), 200)
    batch = split_of(bare, PromptExample("good film")).batch([0])
    assert batch.unit[0].tolist() == [-1, 1]
    assert batch.mask.tolist() == [[False, True]]


def test_hidden_tokens_show_a_blank():
    coder = Coder(tiny_tokenizer(), PLAIN, 200, "tokens")
    batch = split_of(coder, EXAMPLE, blank=3).batch([0])
    where = torch.zeros_like(batch.mask)
    where[0, 3] = True
    hidden = batch.hide(where)
    assert bool(hidden.kept.all())
    assert int((hidden.read == 3).sum()) == int((batch.read == 3).sum()) + 1
    place = int((hidden.read != batch.read)[0].nonzero())
    assert hidden.finest().hide(where=torch.zeros_like(hidden.tokens).bool()).read[0, place] == 3


def test_what_does_not_fit_is_cut_and_counted():
    coder = Coder(tiny_tokenizer(), PLAIN, 30)
    coded = coder.code(EXAMPLE, ("blue",))
    whole = Coder(tiny_tokenizer(), PLAIN, 200).code(EXAMPLE, ("blue",))
    assert len(coded.tokens) == 29
    assert coded.left_out == len(whole.tokens) - 29
    assert coder.tokenizer.decode(coded.tokens).endswith("What colour is the boat ? Answer :")
    mask = PromptSplit([coded], [-1]).batch([0]).mask
    assert mask.tolist() == [[True, True, True, False]]
    with pytest.raises(UserError, match="alone take more"):
        Coder(tiny_tokenizer(), PLAIN, 8).code(EXAMPLE, ("blue",))


def test_a_split_and_its_parts():
    coder = Coder(tiny_tokenizer(), PLAIN, 200)
    split = split_of(coder, EXAMPLE, ALONE)
    assert split.sizes.tolist() == [4, 3]
    where = torch.tensor([False, True, False, False, True, False, False])
    hidden = split.hidden(where)
    assert hidden.batch([1, 0]).gone.tolist() == [[True, False, False, False], [False, True, False, False]]
    assert hidden.only([1]).batch([0]).gone.tolist() == [[True, False, False]]
    assert split.addresses(np.array([1]), 3).tolist() == [[4, 5, 6]]
    orders = [rows.tolist() for rows, _ in split.in_order(1)]
    assert orders == [[1], [0]]


@pytest.mark.parametrize(
    ("form", "message"),
    [({"prompt": "no field"}, "the same for all"), ({"prompt": "{context}"}, "not 'context'")],
)
def test_refused_forms(form, message):
    with pytest.raises(UserError, match=message):
        Form(**form)


def test_refused_answers_and_templates():
    coder = Coder(tiny_tokenizer(), PLAIN, 200)
    with pytest.raises(UserError, match="empty"):
        coder.code(EXAMPLE, (" ",))
    with pytest.raises(UserError, match="no chat template"):
        Coder(tiny_tokenizer(), Form(chat=True), 200)
    odd = tiny_tokenizer(chat=True)
    odd.chat_template = "{{ raise_exception('no user here') }}"
    with pytest.raises(UserError, match="no user here"):
        Coder(odd, Form(), 200).code(EXAMPLE, ("red",))
    odd.chat_template = "{{ messages[0]['content'] | upper }}"
    with pytest.raises(UserError, match="changes what a user says"):
        Coder(odd, Form(), 200).code(EXAMPLE, ("red",))


def test_sentences():
    text = 'He said: "Stop!" Then 3.5 days passed. No end'
    assert [text[slice(*span)] for span in sentences(text)] == ['He said: "Stop!"', "Then 3.5 days passed.", "No end"]
    assert sentences("") == []
