"""A function that answers, called with patience: a limit on time and on tries, its answers read in several formats.

Nothing of what it raises is kept but a sentence, out of which keys are taken.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from trueness.boundary import calling, short
from trueness.errors import UserError

TRIES, SECONDS, WAIT, AT_ONCE = 4, 120.0, 1.0, 1
"""Calls for one answer at most, how long each may take, the first pause, which doubles, and calls beside one another;
a function sets its own by attributes: tries, timeout, wait, at_once."""
_PASSING = re.compile(
    r"\b(408|409|425|429|500|502|503|504|529)\b|rate.?limit|too many requests|timed?.?out|overloaded|temporar|"
    r"unavailable|connection|reset by peer",
    re.IGNORECASE,
)
_SECRET = re.compile(r"\b(?:sk|pk|key|ghp|hf|xox[a-z])[-_][\w-]{8,}|\bBearer\s+\S+|(?<=key=)[^\s&\"']+", re.IGNORECASE)
_NAMED = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)


@dataclass(frozen=True)
class Reply:
    """What the function says to one question."""

    answer: str
    citations: tuple[int, ...] | None = None
    """Numbers of the passages that were given, from 0; None where it says nothing of sources."""
    likelihood: float | None = None
    """The probability of the answer, the mean over its tokens, where the service gives it."""
    missing: int = 0
    """Citations of passages that were not given."""


@dataclass(frozen=True, eq=False)
class Service:
    """A function (question, contexts) -> answer, remembered and called again where it fails for a moment."""

    name: str
    function: Callable[..., Any]
    kept: dict[tuple[str, tuple[str, ...]], Reply] = field(default_factory=dict, repr=False)

    def replies(self, asked: Sequence[tuple[str, tuple[str, ...]]]) -> list[Reply]:
        """One for each question with its passages; each is asked once."""
        new = [one for one in dict.fromkeys(asked) if one not in self.kept]
        at_once = int(getattr(self.function, "at_once", AT_ONCE))
        if at_once > 1 and len(new) > 1:
            with ThreadPoolExecutor(at_once) as pool:
                self.kept.update(zip(new, pool.map(self.ask, new), strict=True))
        else:
            for one in new:
                self.kept[one] = self.ask(one)
        return [self.kept[one] for one in asked]

    def ask(self, asked: tuple[str, tuple[str, ...]]) -> Reply:
        """One answer, whether it was asked before or not; UserError after so many tries, or for good."""
        question, contexts = asked
        tries = max(1, int(getattr(self.function, "tries", TRIES)))
        wait = float(getattr(self.function, "wait", WAIT))
        for number in range(1, tries + 1):
            try:
                found = self._call(question, contexts)
            except TimeoutError:
                told = f"took longer than {self.seconds:g} s"
            except Exception as error:  # whatever a client of a service raises
                told = scrubbed(f"{type(error).__name__}: {error}")
                if not _passes(error):
                    raise self._failed(error) from None
            else:
                with calling(self.name, self.function):
                    return reply_of(found, len(contexts), self.name)
            if number < tries:
                time.sleep(wait * 2 ** (number - 1))
        raise UserError(
            f"{self.name} gave no answer in {tries} tries: {told}; try again later, or set its attribute tries."
        )

    def _failed(self, error: Exception) -> UserError:
        """What is to be said of an error that stays: where it was raised, and no key."""
        try:
            with calling(self.name, self.function):
                raise error
        except UserError as told:
            return UserError(scrubbed(str(told)) + ".")

    @property
    def seconds(self) -> float:
        """How long one call may take."""
        return float(getattr(self.function, "timeout", SECONDS))

    def _call(self, question: str, contexts: tuple[str, ...]) -> Any:
        """In a thread of its own, which is left behind when time is up."""
        done: list[Any] = []
        raised: list[BaseException] = []

        def work() -> None:
            try:
                done.append(self.function(question, list(contexts)))
            except BaseException as error:  # told by who waits
                raised.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(self.seconds)
        if raised:
            raise raised[0] if isinstance(raised[0], Exception) else RuntimeError(str(raised[0]))
        if not done:
            raise TimeoutError
        return done[0]


def _passes(error: Exception) -> bool:
    """Whether it may be over the next time."""
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    code = getattr(error, "status_code", getattr(error, "code", None))
    return bool(_PASSING.search(f"{type(error).__name__} {code} {error}"))


def scrubbed(told: str) -> str:
    """A message without keys: neither what looks like one nor the value of a variable that is named so."""
    for name, value in os.environ.items():
        if _NAMED.search(name) and len(value) >= 8:
            told = told.replace(value, "…")
    return _SECRET.sub("…", " ".join(told.split())).rstrip(".")


def reply_of(found: Any, passages: int, name: str) -> Reply:
    """A reply from a text, (answer, citations), (answer, citations, log-probability) or a mapping of these names."""
    if isinstance(found, Mapping):
        parts = [found.get(one) for one in ("answer", "citations", "logprob")]
    else:
        parts = [*found] if isinstance(found, tuple | list) and 1 <= len(found) <= 3 else [found]
    answer, citations, logprob = [*parts, None, None][:3]
    if not isinstance(answer, str):
        raise _wrong(name, found)
    cited, missing = _citations(citations, passages, name, found)
    return Reply(answer, cited, _likelihood(logprob, name, found), missing)


def _citations(given: Any, passages: int, name: str, found: Any) -> tuple[tuple[int, ...] | None, int]:
    if given is None:
        return None, 0
    listed = list(given) if isinstance(given, list | tuple | set) else [given]
    if any(isinstance(one, bool) or not isinstance(one, int) for one in listed):
        raise _wrong(name, found)
    there = tuple(dict.fromkeys(one for one in listed if 0 <= one < passages))
    return there, sum(not 0 <= one < passages for one in listed)


def _likelihood(given: Any, name: str, found: Any) -> float | None:
    """From one log-probability, or those of the tokens."""
    if given is None:
        return None
    listed = list(given) if isinstance(given, list | tuple) else [given]
    if not listed or any(isinstance(one, bool) or not isinstance(one, int | float) for one in listed):
        raise _wrong(name, found)
    mean = math.fsum(listed) / len(listed)
    if not mean <= 1e-6:
        raise UserError(f"{name} returned the log-probability {mean:g}: a probability lies between 0 and 1.")
    return math.exp(mean)


def _wrong(name: str, found: Any) -> UserError:
    return UserError(
        f"{name} returned {short(repr(found))}: give the answer as text, (answer, citations) with numbers of passages "
        "from 0, or (answer, citations, log-probability)."
    )
