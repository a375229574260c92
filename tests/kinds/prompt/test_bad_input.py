"""What people give that is not as it should be: each is read, counted, or refused in one sentence."""

import pytest

from tests.kinds.prompt.subjects import questions
from trueness.errors import UserError
from trueness.kinds import KINDS, kind_of
from trueness.kinds.prompt.audit import edited, oddities
from trueness.kinds.prompt.calibration import check_bias
from trueness.kinds.prompt.data.form import Form
from trueness.kinds.prompt.data.prompts import PromptExample, PromptExamples
from trueness.kinds.prompt.data.reading import PromptData
from trueness.kinds.prompt.models.functions import open_function
from trueness.kinds.prompt.models.opening import open_model
from trueness.kinds.prompt.models.tiny import tiny_model
from trueness.protocols.randomisation import explained

KIND = KINDS["prompt"]


def model_of(**how):
    return open_model(tiny_model(0, texts=[" ".join(one.contexts) for one in questions(4)], **how))


def looked(model, *examples):
    return PromptData().look(PromptExamples(examples), model)


def scores_of(model, examples, name="leave-one-out"):
    return explained(model.network, model.coded(examples).labelled([0] * len(examples)), KIND.explainers[name])


def test_no_passage_has_the_words_of_the_question_as_units():
    model = model_of()
    found = looked(model, PromptExample("Where does she live?", answer="a town"))
    scores, mask = scores_of(model, found["all"])
    assert mask.tolist() == [[False, True, True, True]]  # the first token draws attention whatever it is
    assert scores.any()
    assert "have no passage: the words of the question are explained" in oddities(model, found["all"])


def test_one_passage_is_explained_and_told():
    model = model_of()
    found = looked(model, PromptExample("Where?", ("Anna lives in a town.",), "a town"))
    assert scores_of(model, found["all"])[1].tolist() == [[True]]
    assert oddities(model, found["all"])["have a single passage, which no other can outrank"] == 1
    assert edited(found["all"][0]).contexts == ("Anna lives in a town.",)


def test_two_hundred_passages_are_explained_as_long_as_they_fit():
    model = model_of(max_position_embeddings=4096)
    example = PromptExample("Where?", tuple(f"She lives in town {number}." for number in range(200)), "a town")
    _, mask = scores_of(model, PromptExamples([example]), "overlap-question")
    assert mask.sum() == 200
    assert len(KIND.view.contents(model, PromptExamples([example]))[0].units) == 200


def test_passages_beyond_the_window_are_cut_and_counted():
    model = model_of(max_position_embeddings=120)
    long = PromptExample("Where?", tuple("It rained for three days." for _ in range(40)), "a town")
    short = PromptExample("Where?", ("It rained.", "The boat is red."), "a town")
    found = oddities(model, PromptExamples([long, short]))
    assert found["are longer than the model reads: the end of the passages was cut off"] == 1
    assert scores_of(model, PromptExamples([long]))[1].sum() < 40


def test_a_question_beyond_the_window_is_refused():
    with pytest.raises(UserError, match=r"The question and the answer alone take more than the 20 tokens"):
        model_of(max_position_embeddings=20).coded([PromptExample("town " * 40, ("a", "b"), "a town")])


def test_empty_answers_of_the_model_are_left_out_and_counted():
    def answer(question, contexts):
        return "" if question == "no" else "Ann"

    found = looked(open_function(answer), PromptExample("no", ("a", "b")), PromptExample("who", ("a", "b")))
    assert [one.answer for one in found["all"]] == ["Ann"]
    assert "1 of the model's own answers are empty: they were left out" in found.notes


def test_answers_that_no_passage_has_are_counted():
    model = model_of()
    found = looked(model, PromptExample("Where?", ("It rained.", "The boat is red."), "positive"))
    assert oddities(model, found["all"])["have words that are in none of their passages"] == 1


def test_a_template_without_a_turn_of_a_user_is_refused():
    network, tokenizer = tiny_model(0)
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m['role'] == 'system' %}{{ m['content'] }}{% endif %}{% endfor %}"
    )
    with pytest.raises(UserError, match=r"The chat template changes what a user says"):
        open_model((network, tokenizer)).coded([PromptExample("Where?", ("a", "b"), "a town")])
    tokenizer.chat_template = "{{ raise_exception('no user') }}"
    with pytest.raises(UserError, match=r"The chat template takes no turn of a user \(.*no user.*\)"):
        open_model((network, tokenizer)).coded([PromptExample("Where?", ("a", "b"), "a town")])


def test_a_tokeniser_without_a_chat_template_reads_plain_prompts():
    model = model_of(chat=False)
    (coded,) = model.coded([PromptExample("Where?", ("It rained.", "The boat is red."), "a town")]).coded
    text = model.tokenizer.decode(coded.tokens)
    assert "Answer" in text
    assert "user" not in text
    with pytest.raises(UserError, match="The tokeniser has no chat template: take chat=False"):
        model.with_(form=Form(chat=True)).coded([PromptExample("Where?", answer="a town")])


def test_a_prompt_without_the_text_is_refused():
    with pytest.raises(UserError, match="without any it is the same for all examples"):
        Form(prompt="Is this good or bad?")
    with pytest.raises(UserError, match="not 'review'"):
        Form(prompt="Review: {review}")


def test_label_words_that_take_all_texts_are_refused():
    import torch

    model = open_model(tiny_model(0), labels=("negative", "positive"))
    texts = PromptExamples(PromptExample(f"film {number}") for number in range(30))
    model.network.offset = torch.tensor([-100.0, 0.0])
    with pytest.raises(UserError, match=r"says 'negative' of 30 of 30 texts, also when it is calibrated"):
        check_bias(model, texts)


def test_calibration_makes_labels_alike_where_a_text_says_nothing():
    from trueness.kinds.prompt.calibration import EMPTY, calibrate

    model = open_model(tiny_model(0), labels=("negative", "positive"))
    calibrate(model)
    split = model.coded(PromptExamples(PromptExample(text) for text in EMPTY))
    logits = model.network.logits(split.batch(range(len(EMPTY)))).log_softmax(dim=-1).mean(dim=0)
    assert float((logits[0] - logits[1]).detach()) == pytest.approx(0, abs=1e-4)


def test_a_language_model_is_no_classifier_of_texts(tmp_path):
    network, tokenizer = tiny_model(0)
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert kind_of(tmp_path).name == "prompt"
    (tmp_path / "reviews.csv").write_text("text,label\nfine film,1\n")
    with pytest.raises(UserError, match="give the label words of a classifier with --labels"):
        PromptData().look(str(tmp_path / "reviews.csv"), open_model(tmp_path))
