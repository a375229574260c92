"""How a question and its passages become the text of a prompt, and where each passage is in it."""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter

from trueness.errors import UserError
from trueness.kinds.prompt.data.prompts import PromptExample

Span = tuple[int, int]
"""First character and one past the last."""
FIELDS = ("instruction", "contexts", "question", "text")
WITH_PASSAGES = "{instruction}\n\n{contexts}\n\nQuestion: {question}"
WITHOUT = "{instruction}\n\n{question}"


@dataclass(frozen=True)
class Form:
    """The wording around what an example holds.

    `prompt` may name {instruction}, {contexts}, {question} and {text}, which is another name for the question.
    """

    prompt: str = ""
    """Without any: instruction, passages and question, with empty lines between."""
    passage: str = "[{number}] {text}"
    """One passage."""
    between: str = "\n\n"
    """What stands between two passages."""
    begun: str = ""
    """How every answer begins; it is part of the prompt, and has no score."""
    chat: bool | None = None
    """Whether the tokeniser's chat template is put around it; None: if there is one."""

    def __post_init__(self) -> None:
        named = {name for _, name, *_ in Formatter().parse(self.prompt) if name is not None}
        wrong = sorted(named - set(FIELDS))
        if wrong:
            raise UserError(
                f"A prompt may name {', '.join(FIELDS)} in braces, not {wrong[0]!r}; write {{{{ for a brace."
            )
        if self.prompt and not named & {"question", "text", "contexts"}:
            raise UserError(
                "A prompt names {question}, {text} or {contexts}: without any it is the same for all examples."
            )


@dataclass(frozen=True)
class Written:
    """The text of a prompt."""

    text: str
    passages: tuple[Span, ...]
    """Of each passage the characters of its own text."""
    blocks: tuple[Span, ...]
    """Of each passage all that goes with it: its number, and what stands between it and the next."""
    question: Span

    def moved(self, by: int, text: str) -> Written:
        """The same as a part of a longer text, so many characters further on."""

        def each(spans: tuple[Span, ...]) -> tuple[Span, ...]:
            return tuple((begin + by, end + by) for begin, end in spans)

        return Written(text, each(self.passages), each(self.blocks), each((self.question,))[0])


def write(example: PromptExample, form: Form) -> Written:
    """The prompt of one example, without the chat template."""
    text, passages, blocks, question = "", [], [], (0, 0)
    for before, name, *_ in Formatter().parse(form.prompt or (WITH_PASSAGES if example.contexts else WITHOUT)):
        text += before
        if name == "instruction":
            text += example.instruction
        elif name in ("question", "text"):
            question = (len(text), len(text) + len(example.question))
            text += example.question
        elif name == "contexts":
            for number, context in enumerate(example.contexts):
                begin = len(text)
                opening, closing = form.passage.replace("{number}", str(number + 1)).split("{text}")
                text += opening + context
                passages.append((len(text) - len(context), len(text)))
                text += closing + (form.between if number + 1 < len(example.contexts) else "")
                blocks.append((begin, len(text)))
    if blocks and form.between and text.startswith(form.between, blocks[-1][1]):
        blocks[-1] = (blocks[-1][0], blocks[-1][1] + len(form.between))  # as behind all others
    skipped = len(text) - len(text.lstrip("\n"))
    return Written(text, tuple(passages), tuple(blocks), question).moved(-skipped, text[skipped:])
