import statistics
from collections import Counter

import pytest

from trueness.errors import UserError
from trueness.kinds.text.data.babi import PLACES, read_babi, simulate_babi

# Of the original training files: mean tokens, distinct words, supporting sentences (see docs/data.md).
REAL = {1: (36.2, 20, 1), 2: (94.1, 34, 2), 3: (295.8, 35, 3)}


@pytest.mark.parametrize("task", [1, 2, 3])
def test_the_simulator_resembles_the_original_files(task):
    examples = list(simulate_babi(task, 400, seed=0))
    length, words, support = REAL[task]
    assert len(examples) == 2000
    assert statistics.mean(len(example.text.split()) for example in examples) == pytest.approx(length, rel=0.15)
    assert len({word for e in examples for word in (*e.text.split(), *e.text_b.split())}) == words
    assert {len(example.evidence) for example in examples} <= {support, support - 1}
    answers = Counter(example.label for example in examples)
    assert set(answers) == set(PLACES)
    assert max(answers.values()) < 1.5 * min(answers.values())


@pytest.mark.parametrize("task", [1, 2, 3])
def test_the_answer_follows_from_the_story(task):
    """Replay every story from its words alone."""
    for example in simulate_babi(task, 60, seed=3):
        place, holder, lies, journeys = {}, {}, {}, {}
        for sentence in example.text.split(" . "):
            person, *words = sentence.split()
            thing = next((word for word in words if word in ("apple", "football", "milk")), None)
            if thing is None:
                place[person] = words[-1]
                for item, who in holder.items():
                    if who == person:
                        journeys[item].append(words[-1])
            elif words[0] in ("got", "picked", "took", "grabbed"):
                assert thing not in holder
                assert lies.get(thing, place[person]) == place[person]
                holder[thing], journeys[thing] = person, []
            else:
                assert holder.pop(thing) == person
                lies[thing] = place[person]
        question = example.text_b.split()
        if task == 1:
            assert example.label == place[question[-1]]
        elif task == 2:
            thing = question[-1]
            assert example.label == (place[holder[thing]] if thing in holder else lies[thing])
        else:
            thing, after = question[3], question[-1]
            assert (example.label, after) in list(zip(journeys[thing], journeys[thing][1:], strict=False))


def test_questions_of_task_3_are_as_fresh_as_the_originals():
    """Of 1,000 original training questions the nearest supporting sentence is 2.7 sentences back, on average."""
    back = []
    for example in simulate_babi(3, 200, seed=0):
        sentences = example.text.split(" . ")
        last = max(end for _, end in example.evidence)
        back.append(example.text.split()[last:].count(".") + 1)
        assert len(sentences) > 3
    assert statistics.mean(back) == pytest.approx(2.7, abs=0.4)


@pytest.mark.parametrize(("task", "taken", "dropped"), [(2, 1.0, 0.20), (3, 0.19, 0.22)])
def test_there_ends_as_many_sentences_as_in_the_original_files(task, taken, dropped):
    ends = {"take": [], "drop": []}
    for example in simulate_babi(task, 100, seed=0):
        for sentence in example.text.split(" . "):
            words = sentence.split()
            if any(thing in words for thing in ("apple", "football", "milk")):
                kind = "take" if words[1] in ("got", "picked", "took", "grabbed") else "drop"
                ends[kind].append(words[-1] == "there")
    assert statistics.mean(ends["take"]) == pytest.approx(taken, abs=0.05)
    assert statistics.mean(ends["drop"]) == pytest.approx(dropped, abs=0.05)


def test_evidence_covers_whole_supporting_sentences():
    for example in simulate_babi(1, 20, seed=1):
        tokens = example.text.split()
        ((begin, end),) = example.evidence
        assert tokens[begin] == example.text_b.split()[-1]
        assert tokens[end - 1] == example.label
        assert end == len(tokens) or tokens[end] == "."


def test_a_seed_fixes_the_stories():
    first, second, other = (list(simulate_babi(2, 5, seed=seed)) for seed in (1, 1, 2))
    assert first == second != other


def test_original_files(tmp_path):
    path = tmp_path / "qa.txt"
    path.write_text(
        "1 Mary moved to the bathroom.\n2 John went to the hallway.\n3 Where is Mary? \tbathroom\t1\n"
        "4 Mary went to the garden.\n5 Where is Mary?\tgarden\t4\n"
        "1 John moved to the office.\n2 Where is John?\toffice\t1\n"
    )
    examples = list(read_babi(path))
    assert [example.label for example in examples] == ["bathroom", "garden", "office"]
    assert examples[1].text == "Mary moved to the bathroom . John went to the hallway . Mary went to the garden"
    assert examples[1].evidence == ((12, 17),)
    assert examples[0].text_b == "Where is Mary"
    path.write_text("Mary moved\n")
    with pytest.raises(UserError, match="line 1 does not begin"):
        list(read_babi(path))
    path.write_text("1 Where is Mary?\tgarden\n")
    with pytest.raises(UserError, match="line 1 is not a question"):
        list(read_babi(path))


@pytest.mark.parametrize("support", ["9", "x", "²", "9" * 5000])
def test_a_support_that_is_not_there_is_told(tmp_path, support):
    (tmp_path / "qa.txt").write_text(f"1 Mary went home.\n2 Where is Mary?\thome\t{support}\n")
    with pytest.raises(UserError, match="line 2 names a sentence that is not there"):
        list(read_babi(tmp_path / "qa.txt"))


def test_original_files_are_read_as_the_authors_of_recursive_roar_read_them(tmp_path):
    """Their rule: sentences without their period, joined by " . "; the question without its mark; split at spaces."""
    lines, expected = [], []
    for example in simulate_babi(2, 40, seed=1):
        story, question = example.text.split(" . "), example.text_b
        lines += [f"{place} {sentence}." for place, sentence in enumerate(story, start=1)]
        lines.append(f"{len(story) + 1} {question}? \t{example.label}\t1")
        paragraph = " . ".join(line.split(" ", 1)[1][:-1] for line in lines[-len(story) - 1 : -1])
        expected.append((paragraph.split(), f"{question}?"[:-1].split(), example.label))
    path = tmp_path / "qa2_test.txt"
    path.write_text("\n".join(lines) + "\n")
    found = [(one.text.split(), one.text_b.split(), one.label) for one in read_babi(path)]
    assert found == expected
