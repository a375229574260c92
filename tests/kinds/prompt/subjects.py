"""Functions and passages whose used passage is known: each answers by copying, by a rule that is written here."""

import re

from trueness.kinds.prompt.data.prompts import PromptExample, PromptExamples

SENTENCES = (
    "It rained for three days in the north.",
    "The council met on Monday.",
    "A new bridge was opened near the mill.",
    "The team lost its last match.",
    "Bread became cheaper in spring.",
    "The library closes at six.",
    "Nobody was hurt in the fire.",
    "The river is low this year.",
)
CODE = re.compile(r"[Tt]he code of the (\w+ \w+) is (\d{4})")


def questions(count, passages=6):
    """Questions with passages of two sentences each."""
    return PromptExamples(
        PromptExample(
            f"Question {number}: what is the code of the red box?",
            tuple(
                f"{SENTENCES[(number + place) % 8]} {SENTENCES[(number * 3 + 2 * place) % 8]}"
                for place in range(passages)
            ),
        )
        for number in range(count)
    )


def codes_in(question, contexts):
    """(passage, code) of the thing that a question is about."""
    thing = re.search(r"code of the (\w+ \w+)", question)
    found = [(number, *one) for number, text in enumerate(contexts) for one in CODE.findall(text)]
    return [(number, code) for number, name, code in found if thing and name == thing[1]]


def first_copier(question, contexts):
    """Copies from the first passage that has the code, and cites it."""
    found = codes_in(question, contexts)
    return (f"The code is {found[0][1]}.", [found[0][0]]) if found else ("I do not know.", [])


def last_copier(question, contexts):
    """Copies from the last passage that has it, and cites it."""
    found = codes_in(question, contexts)
    return (f"The code is {found[-1][1]}.", [found[-1][0]]) if found else ("I do not know.", [])


def stubborn(question, contexts):
    """Says the same whatever it reads, and cites the first passage."""
    return "The code is 1234.", [0]
