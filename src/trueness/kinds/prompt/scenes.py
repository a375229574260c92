"""Facts planted among a person's own passages, so that it is known which passage an answer comes from.

The scenes: one passage holds the fact (*unique*), another one is about a like thing (*decoy*), two passages contradict
one another (*conflict*), or say the same (*redundant*). In a conflict a third passage has both values, of other things:
words that the answer shares with a passage do not tell either. No judge is asked which passage was used: its value is
edited, and either the answer follows or the scene is left out. Where two passages say the same, both are edited.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from trueness.kinds.prompt.data.prompts import PromptExample, PromptExamples

SceneName = Literal["unique", "decoy", "conflict", "redundant"]
SCENES: tuple[SceneName, ...] = ("unique", "decoy", "conflict", "redundant")
COLOURS = ("red", "blue", "green", "yellow", "white", "black", "brown", "grey")
THINGS = ("box", "door", "bag", "locker", "drawer", "chest", "case", "room")
LEAST_PASSAGES = 3
"""Of an example in which scenes are planted: two that hold facts, and one that does not."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Scene:
    """One question about a planted fact."""

    name: SceneName
    row: int
    """Of the example whose passages these are."""
    prompt: PromptExample
    """With the answer that the planted fact gives, and one alternative: the rival's, or one that no passage has."""
    planted: tuple[int, ...]
    """The passages that hold the fact: of a conflict that which the answer is of first, then its rival."""
    values: tuple[str, str, str]
    """Of the answer, of its alternative, and one that no passage has."""
    rival: int = -1
    """The passage that contradicts the used one, or is about a like thing, or says the same and is known not to be
    followed; -1: none."""
    alike: int = -1
    """The passage that has the values of a conflict as those of other things; -1: none."""

    @property
    def used(self) -> tuple[int, ...]:
        """The passages that the answer comes from: of two that say the same, either."""
        return self.planted if self.name == "redundant" else self.planted[:1]

    def edited(self, *passages: int) -> PromptExample:
        """The same where these passages have another value, which is the answer then."""
        here = dict.fromkeys(self.planted, self.values[0])
        if self.name == "conflict":
            here[self.planted[1]] = self.values[1]
        contexts = tuple(
            text.replace(here[number], self.values[2]) if number in passages else text
            for number, text in enumerate(self.prompt.contexts)
        )
        return replace(
            self.prompt, contexts=contexts, answer=said(self.values[2]), alternatives=(said(self.values[0]),)
        )

    def swapped(self) -> Scene:
        """A conflict of which the answer is the rival's."""
        prompt = replace(self.prompt, answer=said(self.values[1]), alternatives=(said(self.values[0]),))
        values = (self.values[1], self.values[0], self.values[2])
        return replace(self, prompt=prompt, planted=self.planted[::-1], values=values, rival=self.planted[0])


def said(value: str) -> str:
    """The answer that gives a value."""
    return f"The code is {value}."


def planted_scene(example: PromptExample, name: SceneName, row: int, seed: int = 0, *, alike: bool = True) -> Scene:
    """A fact planted into the passages of an example; what is drawn depends on the seed, the scene and the row.

    Unless `alike`, no passage of a conflict has the values of other things.
    """
    rng = np.random.default_rng([seed, row, SCENES.index(name)])
    colour, another, third_colour = rng.choice(COLOURS, 3, replace=False).tolist()
    thing, written = str(rng.choice(THINGS)), " ".join(example.contexts)
    free = [number for number in rng.permutation(np.arange(1000, 10_000))[:200].tolist() if str(number) not in written]
    answer, other, third = map(str, free[:3])
    places = rng.permutation(len(example.contexts)).tolist()
    facts = {places[0]: _fact(colour, thing, answer)}
    if name != "unique":
        facts[places[1]] = _fact(
            another if name == "decoy" else colour, thing, answer if name == "redundant" else other
        )
    confusing = name == "conflict" and alike
    if confusing:
        both_values = (_fact(another, thing, answer), _fact(third_colour, thing, other))
        facts[places[2]] = " ".join(rng.permutation(both_values).tolist())
    contexts = tuple(
        _with(text, facts[place], rng) if place in facts else text for place, text in enumerate(example.contexts)
    )
    prompt = PromptExample(
        f"What is the code of the {colour} {thing}?",
        contexts,
        said(answer),
        alternatives=(said(other),),
        instruction=example.instruction,
        order=example.order,
    )
    planted = tuple(places[: 1 + (name in ("conflict", "redundant"))])
    rival = places[1] if name in ("decoy", "conflict") else -1
    return Scene(name, row, prompt, planted, (answer, other, third), rival, places[2] if confusing else -1)


def _fact(colour: str, thing: str, value: str) -> str:
    return f"The code of the {colour} {thing} is {value}."


def _with(text: str, fact: str, rng: np.random.Generator) -> str:
    """A passage with one sentence more, between two of its own or at an end."""
    sentences = _SENTENCE.split(text.strip())
    sentences.insert(int(rng.integers(len(sentences) + 1)), fact)
    return " ".join(sentences)


def scenes_of(examples: PromptExamples, name: SceneName, seed: int = 0) -> list[Scene]:
    """One scene for each example with passages enough."""
    return [
        planted_scene(one, name, row, seed) for row, one in enumerate(examples) if len(one.contexts) >= LEAST_PASSAGES
    ]


def decided(model: Any, scenes: Sequence[Scene]) -> list[Scene]:
    """The scenes whose answer is known to come from the planted passages, with the answer that the model gives.

    Of a conflict that is either value. The answer has to follow when the value of its passage is edited; of two that
    say the same, when both are. A model that likes one value more, whatever it reads, follows nothing.
    """
    first = _leads(model, [one.prompt for one in scenes])
    settled = [
        one if lead > 0 else one.swapped() if one.name == "conflict" and lead < 0 else None
        for one, lead in zip(scenes, first, strict=True)
    ]
    able = [one for one in settled if one is not None]
    before = _leads(model, [replace(one.prompt, alternatives=(said(one.values[2]),)) for one in able])
    after = _leads(model, [one.edited(*one.used) for one in able])
    return [one for one, *leads in zip(able, before, after, strict=True) if min(leads) > 0]


def followed(model: Any, scenes: Sequence[Scene]) -> list[tuple[int, ...]]:
    """Of redundant scenes that are decided: the copies that the answer follows when they alone are edited."""
    pairs = [(number, place) for number, one in enumerate(scenes) for place in one.planted]
    leads = _leads(model, [scenes[number].edited(place) for number, place in pairs])
    found: list[list[int]] = [[] for _ in scenes]
    for (number, place), lead in zip(pairs, leads, strict=True):
        if lead > 0:
            found[number].append(place)
    return list(map(tuple, found))


def _leads(model: Any, prompts: Sequence[PromptExample]) -> list[float]:
    """By how much the model finds each answer likelier than its alternative."""
    from trueness.models.network import inspecting

    found = np.zeros(len(prompts))
    if prompts:
        with inspecting(model.network):
            for rows, batch in model.coded(PromptExamples(prompts)).in_order():
                logits = model.network.logits(batch).double()
                found[rows] = (logits[:, 0] - logits[:, 1]).cpu().numpy()
    leads: list[float] = found.tolist()
    return leads
