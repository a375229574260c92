"""Explanations of examples: a score for each word, feature or pixel, and how a notebook and a page show them."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from trueness.errors import UserError
from trueness.report.heatmap import COLOURS, drawn_bars, drawn_words, page_of
from trueness.report.word_grid import Scored, laid_out

if TYPE_CHECKING:
    import pandas as pd

_SIDE = 192
"""Pixels of the smaller side of a picture in a notebook."""
_UNSIGNED = (126, 68, 160)
"""The colour over images of scores without sign: their grey is not seen there."""
_FULL = 0.995
"""The share of scores that are not above the one with the full colour: single pixels would dim all others."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """One example, what the model made of it, and the scores of one explainer."""

    explainer: str
    tokens: tuple[str, ...]
    """The words of a text, or the features of a row; none of an image."""
    scores: tuple[float, ...] | npt.NDArray[np.float64]
    """One for each token; of an image (height, width), one for each pixel."""
    predicted: str
    probability: float
    target: str
    known: tuple[bool, ...] = ()
    """Whether the model knows the word; unknown words share one vector."""
    note: str = ""
    """A reason to trust it less."""
    signed: bool = True
    """Whether a score below 0 speaks against the target."""
    precision: str = "default"
    """How exactly it was computed."""
    pixels: npt.NDArray[np.uint8] | None = field(default=None)
    """(height, width, 3) the image."""
    bars: bool = False
    """Whether the scores are drawn as bars: tokens that are no sentence."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Explanation):
            return NotImplemented
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return all(np.array_equal(one, two) if isinstance(one, np.ndarray) else one == two for one, two in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Explanation by {self.explainer}: {np.size(self.scores)} scores; {self.prediction}>"

    def to_pandas(self) -> pd.DataFrame:
        """One row for each token; of an image one for each pixel."""
        import pandas as pd

        if self.pixels is not None:
            rows, columns = np.indices(np.shape(self.scores))
            return pd.DataFrame({"row": rows.ravel(), "column": columns.ravel(), "score": np.ravel(self.scores)})
        known = {"known": self.known} if self.known else {}
        return pd.DataFrame({"token": self.tokens, "score": self.scores, **known})

    def to_json(self) -> dict[str, Any]:
        """All of it but the pixels, as plain JSON."""
        kept = {name: value for name, value in vars(self).items() if name not in ("pixels", "bars")}
        return {name: np.asarray(value).tolist() if _is_many(value) else value for name, value in kept.items()}

    @property
    def prediction(self) -> str:
        """What the model made of the example, in words."""
        how = "" if self.precision == "default" else f"; precision {self.precision}"
        return (
            f"target {self.target} (predicted {self.predicted}, probability {self.probability:.3f})"
            f"{how}{'; ' if self.note else ''}{self.note}"
        )

    @property
    def row(self) -> Scored:
        """As a row of coloured words."""
        return Scored(self.explainer, tuple(np.ravel(self.scores).tolist()), self.signed)

    def same(self) -> tuple[Any, ...]:
        """What explanations of the same example by other explainers share."""
        image = None if self.pixels is None else self.pixels.tobytes()
        return self.tokens, image, self.target, self.note, self.probability

    def _repr_html_(self) -> str:
        return _drawn([self])


class Explanations(list[Explanation]):
    """A list of explanations, which a notebook shows; with several explainers, all of the first one come first."""

    @overload
    def __getitem__(self, which: SupportsIndex) -> Explanation: ...

    @overload
    def __getitem__(self, which: slice | str) -> Explanations: ...

    def __getitem__(self, which: SupportsIndex | slice | str) -> Explanation | Explanations:
        """One, several, or by the name of an explainer all that it gave."""
        if isinstance(which, str):
            if which not in self.explainers:
                raise UserError(f"{which} explained nothing here, only {', '.join(self.explainers)}.")
            return Explanations(one for one in self if one.explainer == which)
        if isinstance(which, slice):
            return Explanations(super().__getitem__(which))
        return super().__getitem__(which)

    @property
    def explainers(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(dict.fromkeys(one.explainer for one in self))

    @property
    def scores(self) -> Any:
        """(examples, features) or (images, height, width) where all are of one size; of texts a list of arrays."""
        found = [np.asarray(one.scores, dtype=np.float64) for one in self]
        return np.stack(found) if found and len({one.shape for one in found}) == 1 else found

    def to_pandas(self) -> pd.DataFrame:
        """One row for each score: of which example, by which explainer."""
        import pandas as pd

        seen, tables = Counter[str](), []
        for one in self:
            tables.append(one.to_pandas().assign(example=seen[one.explainer], explainer=one.explainer))
            seen[one.explainer] += 1
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    def to_tensor(self) -> Any:
        """(examples, units) scores as a tensor of torch, of images (images, height, width); texts are filled up with 0.

        This is the form in which Captum gives attributions that were summed over embeddings.
        """
        import torch

        found = [torch.as_tensor(np.asarray(one.scores, dtype=np.float64)) for one in self]
        if not found or len({one.shape for one in found}) == 1:
            return torch.stack(found) if found else torch.zeros(0, 0, dtype=torch.float64)
        return torch.nn.utils.rnn.pad_sequence(found, batch_first=True)

    def to_shap(self) -> Any:
        """A `shap.Explanation`, for SHAP's plots: scores with their words, features or pixels.

        The base value is 0: what a method's scores sum to is a matter of the method.
        """
        try:
            import shap
        except ModuleNotFoundError as error:
            raise UserError("This needs SHAP: pip install shap.") from error
        scores = [np.asarray(one.scores, dtype=np.float64) for one in self]
        data = [np.array(one.tokens) if one.pixels is None else one.pixels for one in self]
        names = {one.tokens for one in self}
        return shap.Explanation(
            values=_even(scores),
            base_values=np.zeros(len(self)),
            data=_even(data),
            feature_names=list(names.pop()) if len(names) == 1 and self[0].pixels is None else None,
        )

    def to_json(self) -> list[dict[str, Any]]:
        """Of each what its `to_json` gives."""
        return [one.to_json() for one in self]

    def to_html(self, file: str | Path | None = None) -> str:
        """A page of its own, also written to a file: one grid for each example, one row for each explainer."""
        page = explanation_page(self)
        if file is not None:
            Path(file).write_text(page, encoding="utf-8")
        return page

    def __repr__(self) -> str:
        count = len(self) // max(1, len(self.explainers))
        return (
            f"<Explanations of {count} example{'' if count == 1 else 's'} by {', '.join(self.explainers) or 'nothing'}>"
        )

    def _repr_html_(self) -> str:
        return "".join(_drawn(some) for some in by_example(self))


def by_example(explanations: Iterable[Explanation]) -> Iterator[list[Explanation]]:
    """Those of the same example, in order of appearance."""
    keys: dict[tuple[Any, ...], int] = {}
    numbered = [(keys.setdefault(one.same(), len(keys)), one) for one in explanations]
    for _, some in groupby(sorted(numbered, key=lambda pair: pair[0]), key=lambda pair: pair[0]):
        yield [one for _, one in some]


def explanation_page(explanations: Iterable[Explanation]) -> str:
    """A page of its own: one grid for each example and target, one row for each explainer."""
    examples: list[tuple[str, list[str], Any, str]] = []
    for some in by_example(explanations):
        first = some[0]
        about = [f"{first.prediction}."]
        if first.pixels is None and not first.bars:
            examples.append((" ".join(first.tokens), about, laid_out(first.tokens, [one.row for one in some]), ""))
        else:
            examples.append((f"Target {first.target}", about, None, _inside(some)))
    signed = [any(one.signed is signed for one in explanations) for signed in (True, False)]
    return page_of(
        "Explanations of a model",
        "What made the model decide? Each row is one method's answer about the same example.",
        examples,
        signed,
        "An explanation is a claim about the model, not a fact: trueness audit puts it on trial.",
    )


def _drawn(some: list[Explanation]) -> str:
    """Of one example: what the model made of it, then a row or picture for each explainer."""
    names = "" if len(some) > 1 else f"{some[0].explainer}, "
    return f"<div><small>{escape(names + some[0].prediction)}</small><br>{_inside(some)}</div>"


def _inside(some: list[Explanation]) -> str:
    first = some[0]
    if first.pixels is not None:
        name = "<figure style='display:inline-block;margin:4px'>{}<figcaption>{}</figcaption></figure>"
        captions = [one.explainer if one.signed else f"{one.explainer} (no sign)" for one in some]
        shown = [(_picture(first.pixels), "image"), *zip(map(overlay, some), captions, strict=True)]
        return "".join(name.format(picture, escape(caption)) for picture, caption in shown)
    return (drawn_bars if first.bars else drawn_words)(first.tokens, [one.row for one in some])


def overlay(one: Explanation) -> str:
    """An image in grey under the colours of its scores, as HTML."""
    assert one.pixels is not None
    scores = np.asarray(one.scores, dtype=np.float64)
    strength = np.abs(scores) if one.signed else np.clip(scores, 0, None)
    full = float(np.quantile(strength, _FULL)) or float(strength.max())
    share = np.clip(strength / full, 0, 1)[..., None] if full > 0 else np.zeros((*scores.shape, 1))
    towards = np.array(COLOURS["for"] if one.signed else _UNSIGNED), np.array(COLOURS["against"])
    colours = np.where(scores[..., None] >= 0, *towards) if one.signed else towards[0]
    grey = 120 + 0.5 * one.pixels.mean(axis=-1, keepdims=True)  # pale, so that colours are seen
    return _picture((grey * (1 - share) + colours * share).clip(0, 255).astype(np.uint8))


def _picture(pixels: npt.NDArray[np.uint8]) -> str:
    from PIL import Image

    image = Image.fromarray(pixels)
    times = max(1, round(_SIDE / min(image.size)))
    content = io.BytesIO()
    image.resize((image.width * times, image.height * times), Image.Resampling.NEAREST).save(content, "png")
    return f'<img alt="" src="data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}">'


def _even(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """One array, or an array of arrays where they differ in shape."""
    if len({part.shape for part in parts}) == 1:
        return np.stack(parts)
    found = np.empty(len(parts), dtype=object)
    for place, part in enumerate(parts):
        found[place] = part
    return found


def _is_many(value: Any) -> bool:
    return isinstance(value, tuple | np.ndarray)
