"""A causal or encoder-decoder model of transformers, asked how likely answers are: exact, and no token twice."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from trueness.kinds.prompt.models.sequences import Call, Tokens, Wanted, calls, distinct
from trueness.models.packing import out_of_memory

_OVERHEAD = {"cpu": 32}
"""How many tokens a call is worth: below that a device waits for the weights, not for the tokens."""
_OVERHEAD_ON_GPU = 2048
_PROBED = 12
_CLOSE = 1e-3
Kept = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer."""


class Likelihood(NamedTuple):
    """Of each answer (answers, tokens), padded by 0."""

    own: Tensor
    """The logarithm of the probability of each token, after those before it."""
    runner_up: Tensor
    """The same of the likeliest other token."""


class Reader:
    """Reads token sequences with a model whose weights are left as they are."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.apart = bool(getattr(model.config, "is_encoder_decoder", False))
        """Whether the prompt is read by an encoder, and the answer by a decoder."""
        self._shares: bool | None = None
        self.computed = 0
        """Tokens that were computed so far, padding included."""

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        found: torch.device = self.model.device
        return found

    def likelihood(self, wanted: Sequence[Wanted], max_bytes: int) -> Likelihood:
        """How likely each answer is; a batch takes about `max_bytes` at most, unless one sequence alone does."""
        length = max((len(one.answer) for one in wanted), default=1)
        found = Likelihood(*(torch.zeros(2, len(wanted), length, device=self.device)))
        most = max(1, max_bytes // self.bytes_per_token)
        overhead = _OVERHEAD.get(self.device.type, _OVERHEAD_ON_GPU)
        if self.apart:
            self._apart(wanted, most, found)
            return found
        kept: Kept = []
        for call in calls(distinct(wanted), overhead, most, share=self.shares):
            logits, kept = self._call(call, kept, wanted)
            _fill(found, logits, call, wanted)
        return found

    @property
    def bytes_per_token(self) -> int:
        """About how much of a batch's memory a token takes: keys and values of all layers, and one layer's work."""
        config = self.model.config.get_text_config(decoder=True)
        size = int(getattr(config, "hidden_size", None) or 1024)
        layers = int(getattr(config, "num_hidden_layers", None) or 12)
        return (4 * layers * size + 24 * size) * int(self.model.dtype.itemsize)

    @property
    def shares(self) -> bool:
        """Whether what was computed for one sequence may serve another: tried once, on a few tokens."""
        if self._shares is None:
            self._shares = self._probed()
        return self._shares

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nothing that was computed serves twice; then as it was."""
        before, self._shares = self._shares, False
        try:
            yield
        finally:
            self._shares = before

    def _probed(self) -> bool:
        known = int(self.model.get_input_embeddings().weight.shape[0])
        tokens = torch.arange(_PROBED, device=self.device)[None] % known
        half = _PROBED // 2
        try:
            whole = self._forward(tokens, None, None)[0][:, half:]
            cache = self._forward(tokens[:, :half], self._cache([], 0, 1), None)[1]
            parts = self._forward(tokens[:, half:], self._cache(_taken(cache), half, 1), None)[0]
        except Exception as error:  # whatever models without keys and values say
            if out_of_memory(error):
                raise
            return False
        return bool(torch.allclose(whole, parts, atol=_CLOSE * float(whole.abs().max().clamp(min=1)), rtol=0))

    def beginning(self, tokens: Tokens) -> Any:
        """Keys and values of some tokens, of all layers whole, for what follows them; None where none can be kept."""
        if not self.shares:
            return None
        nowhere = torch.zeros((1, 0), dtype=torch.long, device=self.device)
        return self._forward(torch.from_numpy(tokens).to(self.device)[None], self._cache([], 0, 1), nowhere)[1]

    def _call(self, call: Call, kept: Kept, wanted: Sequence[Wanted]) -> tuple[Tensor, Kept]:
        """The logits (readings, positions, vocabulary) from the first position that is asked, and what is kept."""
        self.computed += call.tokens
        if call.ahead > call.shared:
            beginning = torch.from_numpy(call.readings[0].tokens[call.shared : call.ahead]).to(self.device)
            nothing = torch.zeros((1, 0), dtype=torch.long, device=self.device)
            kept = _taken(self._forward(beginning[None], self._cache(kept, call.shared, 1), nothing)[1])
        rows = np.zeros((len(call.readings), call.width), dtype=np.int64)
        for row, one in enumerate(call.readings):
            rows[row, : len(one.tokens) - call.ahead] = one.tokens[call.ahead :]
        where = _positions(call, wanted)
        cache = self._cache(kept, call.ahead, len(rows)) if self.shares else None
        ids, places = torch.from_numpy(rows).to(self.device), torch.from_numpy(where).to(self.device)
        logits, cache = self._forward(ids, cache, places)
        last = call.readings[-1]
        return logits, [] if cache is None else _taken(cache, len(rows) - 1, len(last.tokens))

    def _forward(self, ids: Tensor, cache: Any, places: Tensor | None) -> tuple[Tensor, Any]:
        """The logits (sequences, places, vocabulary) at some places alone, and keys and values."""
        with self.only_at(places):
            found = self.model(input_ids=ids, past_key_values=cache, use_cache=cache is not None)
        return found.logits, getattr(found, "past_key_values", None) if cache is not None else None

    @contextlib.contextmanager
    def only_at(self, places: Tensor | None) -> Iterator[None]:
        """Words are predicted at (sequences, some) places alone: a vocabulary is larger than all that is read."""
        head = self.model.get_output_embeddings()
        if places is None or head is None:
            yield
            return

        def gather(_: Any, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            states = given[0]
            return (states.gather(1, places[..., None].expand(-1, -1, states.shape[-1])), *given[1:])

        hook = head.register_forward_pre_hook(gather)
        try:
            yield
        finally:
            hook.remove()

    def _cache(self, kept: Kept, length: int, rows: int) -> Any:
        """Keys and values of the first tokens, for so many sequences."""
        from transformers.cache_utils import DynamicCache, DynamicLayer

        # Without a configuration all layers keep all tokens; where a window ends is the mask's affair.
        cache = DynamicCache()
        if length:
            cache.layers = []
            make: Any = DynamicLayer
            for keys, values in kept:
                layer = make()
                layer.lazy_initialization(keys, values)
                layer.keys, layer.values = (some[:, :, :length].expand(rows, -1, -1, -1) for some in (keys, values))
                cache.layers.append(layer)
        return cache

    def _apart(self, wanted: Sequence[Wanted], most: int, found: Likelihood) -> None:
        """The prompt is read to its end before the answer begins, so that nothing is shared."""
        order = sorted(range(len(wanted)), key=lambda number: len(wanted[number].prompt))
        while order:
            width = len(wanted[order[0]].prompt)
            size = max(1, min(len(order), most // max(1, 2 * width)))
            some = [number for number in order[:size] if len(wanted[number].prompt) <= 1.1 * width]
            order = order[len(some) :]
            ids, inside = _padded([wanted[number].prompt for number in some], self.device)
            start = np.array([self.model.config.decoder_start_token_id])
            given, _ = _padded([np.concatenate([start, wanted[number].answer[:-1]]) for number in some], self.device)
            self.computed += ids.numel() + given.numel()
            logits = self.model(
                input_ids=ids, attention_mask=inside.long(), decoder_input_ids=given, use_cache=False
            ).logits.float()
            for row, number in enumerate(some):
                answer = torch.from_numpy(wanted[number].answer).to(self.device)
                own, other = of_tokens(logits[row, : len(answer)], answer)
                found.own[number, : len(answer)], found.runner_up[number, : len(answer)] = own, other


def _positions(call: Call, wanted: Sequence[Wanted]) -> Tokens:
    """(readings, positions) where words are predicted, among what is computed; repeats where one asks for fewer."""
    asked = [_span(one.asked, wanted) for one in call.readings]
    most = max(end - begin for begin, end in asked)
    where = np.array([np.minimum(np.arange(begin, begin + most), end - 1) for begin, end in asked])
    found: Tokens = where - call.ahead
    return found


def _span(asked: Sequence[int], wanted: Sequence[Wanted]) -> tuple[int, int]:
    """The first position that predicts something that is asked, and one past the last."""
    begins = [wanted[number].first for number in asked]
    ends = [wanted[number].first + len(wanted[number].answer) for number in asked]
    return min(begins), max(ends)


def _fill(found: Likelihood, logits: Tensor, call: Call, wanted: Sequence[Wanted]) -> None:
    """Write down the likelihoods that a call gives."""
    for row, reading in enumerate(call.readings):
        begin, _ = _span(reading.asked, wanted)
        for number in reading.asked:
            answer = torch.from_numpy(wanted[number].answer).to(logits.device)
            at = wanted[number].first - begin
            own, other = of_tokens(logits[row, at : at + len(answer)].float(), answer)
            found.own[number, : len(answer)], found.runner_up[number, : len(answer)] = own, other


def of_tokens(logits: Tensor, answer: Tensor) -> tuple[Tensor, Tensor]:
    """The logarithms of the probabilities of the tokens of answers, and of the likeliest others."""
    said = logits.log_softmax(dim=-1)
    best, which = said.topk(2, dim=-1)
    other = torch.where(which[..., 0] == answer, best[..., 1], best[..., 0])
    return said.gather(-1, answer[..., None])[..., 0], other


def _taken(cache: Any, row: int = 0, length: int | None = None) -> Kept:
    """Keys and values of one sequence."""
    several = cache.layers[0].keys.shape[0] > 1
    return [
        tuple(
            some[row : row + 1, :, :length].clone() if several else some[:, :, :length]
            for some in (one.keys, one.values)
        )
        for one in cache.layers
    ]


def _padded(sequences: Sequence[Tokens], device: torch.device) -> tuple[Tensor, Tensor]:
    """(sequences, tokens), and where there are some."""
    width = max(map(len, sequences))
    ids = np.zeros((len(sequences), width), dtype=np.int64)
    for row, one in enumerate(sequences):
        ids[row, : len(one)] = one
    inside = np.arange(width) < np.array([len(one) for one in sequences])[:, None]
    return torch.from_numpy(ids).to(device), torch.from_numpy(inside).to(device)
