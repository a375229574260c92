"""From a prompt to the numbers of its tokens, each with the unit that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from trueness.boundary import first_line
from trueness.errors import UserError
from trueness.kinds.prompt.data.form import Form, Span, Written, write
from trueness.kinds.prompt.data.prompts import PromptExample

Units = Literal["auto", "passages", "sentences", "words", "tokens"]
UNITS = ("auto", "passages", "sentences", "words", "tokens")
OUTSIDE = -1
_WORD = re.compile(r"\S+")
_SENTENCE = re.compile(r"\S.*?(?:[.!?]+[\"')\]]*(?=\s)|\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Coded:
    """One prompt as a model reads it."""

    example: PromptExample
    tokens: tuple[int, ...]
    unit: tuple[int, ...]
    """Of each token the unit that it belongs to; -1 for the question, the instruction and the template."""
    block: tuple[int, ...]
    """Of each token the unit with which it is taken out: also a passage's number, and what stands before the next."""
    names: tuple[str, ...]
    """The text of each unit."""
    passages: tuple[int, ...]
    """Of each unit the passage that it is in; -1 where it is in the question."""
    answers: tuple[tuple[int, ...], ...]
    """The tokens of each answer that is compared, the first one being explained."""
    scored: tuple[tuple[bool, ...], ...]
    """Which of them count."""
    begun: int = 0
    """How many tokens of each answer are there before it begins: what a decoder that reads no prompt is given."""
    left_out: int = 0
    """How many tokens did not fit into the model's window."""


@dataclass(frozen=True)
class Unit:
    """What gets a score: a span of the prompt's text, and all that goes with it."""

    text: str
    span: Span
    block: Span
    passage: int


class Coder:
    """A tokeniser, the wording around examples, and what is a unit."""

    def __init__(
        self, tokenizer: Any, form: Form, longest: int, units: Units = "auto", *, decoder: bool = False
    ) -> None:
        """`decoder`: whether the answer is read by a part of the model that does not read the prompt."""
        if units not in UNITS:
            raise UserError(f"units should be {', '.join(UNITS)}, not {units!r}.")
        if not getattr(tokenizer, "is_fast", False):
            raise UserError(
                f"The tokeniser {type(tokenizer).__name__} does not tell which characters a token stands for."
            )
        self.tokenizer, self.form, self.longest, self.units, self._decoder = tokenizer, form, longest, units, decoder
        chat = bool(getattr(tokenizer, "chat_template", None))
        self.chat = chat if form.chat is None else form.chat
        if self.chat and not chat:
            raise UserError("The tokeniser has no chat template: take chat=False.")

    def written(self, example: PromptExample) -> tuple[Written, str]:
        """The text of a prompt, and what stands between it and an answer."""
        inside = write(example, self.form)
        begun = "" if self._decoder else self.form.begun
        if self.chat:
            text = self._in_template(inside.text)
            at = text.find(inside.text)
            if at < 0:
                raise UserError("The chat template changes what a user says, so that no passage can be found in it.")
            inside = inside.moved(at, text)
        elif not self.form.prompt:
            begun = "\nAnswer:" + (f" {begun}" if begun else "")
        text = inside.text + begun
        shown = text.rstrip(" ")
        return inside.moved(0, shown), "" if shown.endswith("\n") or self._decoder else " "

    def _in_template(self, text: str) -> str:
        said = [{"role": "user", "content": text}]
        try:
            made: str = self.tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
        except Exception as error:  # whatever the template raises
            raise UserError(f"The chat template takes no turn of a user ({first_line(error)}).") from error
        return made

    def code(self, example: PromptExample, answers: Sequence[str]) -> Coded:
        """The tokens of a prompt and of the answers to it."""
        written, lead = self.written(example)
        special = not self.chat
        found = self.tokenizer(written.text, add_special_tokens=special, return_offsets_mapping=True)
        spans = [(begin, end) for begin, end in found["offset_mapping"]]
        units = list(self._units(written, example, spans))
        starts = [_first_letter(written.text, span) for span in spans]
        unit = _numbers(starts, [one.span for one in units])
        block = _numbers(starts, [one.block for one in units])
        unit[:1] = [OUTSIDE]  # the first token draws attention whatever it is
        if OUTSIDE not in block:
            block[:1] = [OUTSIDE]  # something has to be read
        coded = [
            self._answer(answer, lead, example.part if not number else None) for number, answer in enumerate(answers)
        ]
        room = self.longest if self._decoder else self.longest - max((len(tokens) for tokens, _ in coded), default=0)
        kept, left_out = self._fitting(block, room)
        return Coded(
            example,
            tuple(found["input_ids"][place] for place in kept),
            tuple(unit[place] for place in kept),
            tuple(block[place] for place in kept),
            tuple(one.text for one in units),
            tuple(one.passage for one in units),
            tuple(tokens for tokens, _ in coded),
            tuple(which for _, which in coded),
            len(self._before()),
            left_out,
        )

    def _units(self, written: Written, example: PromptExample, tokens: Sequence[Span]) -> Iterator[Unit]:
        how = self.units if self.units != "auto" else ("passages" if example.contexts else "words")
        texts = list(zip(written.passages, written.blocks, range(len(example.contexts)), strict=False))
        if not texts:
            texts = [(written.question, written.question, OUTSIDE)]
        for span, block, passage in texts:
            if how == "passages":
                yield Unit(written.text[slice(*span)], span, block, passage)
                continue
            parts = list(_parts(written.text, span, how, tokens))
            for number, (begin, end) in enumerate(parts):
                until = parts[number + 1][0] if number + 1 < len(parts) else span[1]
                yield Unit(written.text[begin:end], (begin, end), (begin, until), passage)

    def _answer(self, answer: str, lead: str, part: Span | None) -> tuple[tuple[int, ...], tuple[bool, ...]]:
        """The tokens of an answer as it stands behind a prompt, and which of them count."""
        anchor = ":" if lead else "\n"
        if self._decoder:
            anchor, lead = "", ""
        both = self.tokenizer(anchor + lead + answer, add_special_tokens=False, return_offsets_mapping=True)
        skipped = len(self.tokenizer(anchor, add_special_tokens=False)["input_ids"]) if anchor else 0
        tokens = both["input_ids"][skipped:]
        spans = both["offset_mapping"][skipped:]
        if not tokens:
            raise UserError("An answer is empty: its likelihood says nothing; leave it out, and one is generated.")
        begin, end = (0, len(answer)) if part is None else part
        at = len(anchor) + len(lead)
        counted = [begin + at < span[1] and span[0] < end + at for span in spans]
        if not any(counted):
            raise UserError(f"No token of the answer lies between its characters {begin} and {end}.")
        before = self._before()
        return (*before, *tokens), (*(False for _ in before), *counted)

    def _before(self) -> tuple[int, ...]:
        """What a decoder that does not read the prompt has read before the answer."""
        if not self._decoder or not self.form.begun:
            return ()
        return tuple(self.tokenizer(self.form.begun.rstrip(" "), add_special_tokens=False)["input_ids"])

    def _fitting(self, block: Sequence[int], room: int) -> tuple[list[int], int]:
        """The tokens that are read: where there are too many, the last ones of units are left out."""
        places = list(range(len(block)))
        too_many = len(block) - room
        if too_many <= 0:
            return places, 0
        spare = [place for place in places if block[place] != OUTSIDE]
        if too_many > len(spare):
            raise UserError(
                f"The question and the answer alone take more than the {self.longest} tokens that the model reads."
            )
        out = set(spare[len(spare) - too_many :])
        return [place for place in places if place not in out], too_many


def _parts(text: str, span: Span, how: str, tokens: Sequence[Span]) -> Iterator[Span]:
    """The sentences, words or tokens of a part of a text."""
    begin, end = span
    if how == "tokens":
        for token in tokens:
            if token[0] < token[1] and begin <= _first_letter(text, token) < end:
                yield max(begin, _first_letter(text, token)), token[1]
        return
    for found in (_WORD if how == "words" else _SENTENCE).finditer(text[begin:end]):
        stripped = found.group().rstrip()
        yield begin + found.start(), begin + found.start() + len(stripped)


def _first_letter(text: str, span: Span) -> int:
    """Where a token's first character is that is no space; -1 where it stands for nothing."""
    begin, end = span
    if begin >= end:
        return OUTSIDE
    inside = text[begin:end]
    return begin + (len(inside) - len(inside.lstrip()) if inside.strip() else 0)


def _numbers(places: Sequence[int], spans: Sequence[Span]) -> list[int]:
    """Of each place the number of the span that it is in."""
    found, number = [], 0
    for place in places:
        while number < len(spans) and place >= spans[number][1]:
            number += 1
        inside = number < len(spans) and place >= spans[number][0]
        found.append(number if inside and place >= 0 else OUTSIDE)
    return found


def sentences(text: str) -> list[Span]:
    """Where each sentence of a text is."""
    return list(_parts(text, (0, len(text)), "sentences", ()))
