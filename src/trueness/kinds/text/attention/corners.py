"""Adversarial attention of several classes: walks over the corners of what the output may become.

The divergence is convex, so that over a polytope it is largest at a corner. With more than two classes the attentions
that change the output by at most epsilon are no polytope, but nearly one where the log-odds of each class against the
others are nearly linear in the attention. A walk starts with all attention on one token and goes to the neighbouring
corner that diverges most, until none diverges more (pivots of the simplex method, chosen by the divergence itself).
Then the log-odds are made linear anew where it ended, and it goes on. Where it ends is nearly feasible; the caller
makes it so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from trueness.kinds.text.attention.view import AttentionView

STARTS, ROUNDS = 24, 6
_STEPS = 40  # from corner to corner, in one round
_MILD, _STRICT = 1.0, 30.0  # what more change than epsilon costs in the first round, and later
_FORBIDDEN = 1e3
_SMALLEST = 1e-9  # a smaller pivot is rounding
_GAIN = 1e-10
_CERTAIN = 1e-12  # so near to 0 or 1 a probability counts as it
_MAX_BYTES = 256 << 20

_Value = Callable[[Tensor, Tensor | None, Tensor], Tensor]
"""What amounts are worth on these paths, of the variables that rows hold or of all; an amount of 0 is worth 0."""


def corners(
    view: AttentionView,
    epsilon: float,
    begin: Tensor | None = None,
    *,
    rounds: int | None = None,
    max_bytes: int = _MAX_BYTES,
) -> Tensor:
    """(batch, walks x rounds, tokens) attention after every round of walks.

    They begin with all attention on one token, or near `begin` (batch, walks, tokens).
    """
    width, classes = view.mask.shape[1], view.classes
    walks = STARTS if begin is None else begin.shape[1]
    each = walks * 8 * (10 * (classes + 3) * (width + 2 * classes + 5) + 2 * classes * view.features.shape[-1])
    step = max(1, max_bytes // each)
    found = []
    for low in range(0, len(view.mask), step):
        part = slice(low, low + step)
        some = None if begin is None else begin[part]
        found.append(torch.cat(list(_rounds(view, part, epsilon, some, rounds or ROUNDS)), dim=1))
    return torch.cat(found)


def _rounds(view: AttentionView, part: slice, epsilon: float, begin: Tensor | None, rounds: int) -> Iterator[Tensor]:
    observed, mask = view.attention[part], view.mask[part]
    first = begin is None
    if begin is None:
        start, point = _starts(observed, mask)
    else:
        start, point = begin.masked_fill(~mask[:, None], -1.0).argmax(dim=-1), begin
    for _ in range(rounds):
        table = _Table.at(view, part, point, start, epsilon)
        if not first:
            table.walk(_outside(table, point > _SMALLEST))
        table.walk(_divergence(table, observed, _MILD if first else _STRICT))
        point = table.attention()
        start, first = point.argmax(dim=-1), False
        yield point


def _starts(observed: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """(batch, STARTS) tokens, and the attention around which the log-odds are made linear at first.

    Of many tokens half are those of least attention and the others evenly from the rest, around the observed
    attention. Few tokens take turns: at every turn around mixtures with more of the token itself.
    """
    order = observed.masked_fill(~mask, torch.inf).argsort(dim=-1)
    number = mask.sum(dim=-1, keepdim=True)
    place = torch.arange(STARTS, device=mask.device).expand(len(mask), -1)
    half = STARTS // 2
    rest = half + (place - half) * (number - half) // (STARTS - half)
    start = order.gather(1, torch.where(number < STARTS, place % number, torch.where(place < half, place, rest)))
    turns = (STARTS - 1) // number + 1
    share = torch.where(number < STARTS, place // number / turns, 0.0).to(observed)[..., None]
    alone = torch.nn.functional.one_hot(start, observed.shape[1])
    return start, (1 - share) * observed[:, None] + share * alone


@dataclass
class _Table:
    """Simplex tables of many walks at once, and which variable each row holds.

    Variables: the attention of every token; how far each class is above its probability, and how far below; for both
    sums what is left of epsilon, and what exceeds it. Rows: attention sums to 1; the log-odds of each class; the sums.
    """

    cells: Tensor
    """(paths, rows, variables and the right side)"""
    basis: Tensor
    usable: Tensor
    """(paths, variables): whether it may enter."""
    tokens: int
    excess: Tensor
    """(variables,): whether it is an excess over epsilon."""
    walks: int

    @classmethod
    def at(cls, view: AttentionView, part: slice, point: Tensor, start: Tensor, epsilon: float) -> _Table:
        """The constraints made linear at `point` (batch, walks, tokens); all attention is on `start` (batch, walks)."""
        mask, classes = view.mask[part], view.classes
        batch, walks, width = point.shape
        odds, slope, probability = _linear(view, part, point)
        wanted = view.probability[part][:, None].expand_as(probability)
        up, down = _secants(wanted, probability, epsilon)
        # slope . attention = what keeps the log-odds + up * above - down * below, both sides less the start's own.
        alone = slope.gather(3, start[:, :, None, None].expand(-1, -1, classes, 1))
        right = torch.logit(wanted, _CERTAIN) - odds + (slope * point[:, :, None]).sum(dim=-1) - alone[..., 0]
        above = right < 0
        scale = torch.where(above, -1 / up, 1 / down)
        number = width + 2 * classes + 4
        cells = point.new_zeros(batch, walks, classes + 3, number + 1)
        cells[:, :, 0, :width] = mask[:, None].to(cells)
        cells[:, :, 0, -1] = 1
        of_class = cells[:, :, 1 : classes + 1]
        of_class[..., :width] = (slope - alone) * scale[..., None] * mask[:, None, None]
        of_class[..., width : width + classes] = torch.diag_embed(-up * scale)
        of_class[..., width + classes : width + 2 * classes] = torch.diag_embed(down * scale)
        of_class[..., -1] = right * scale
        basis = start.new_zeros(batch, walks, classes + 3)
        basis[:, :, 0] = start
        numbers = torch.arange(classes, device=basis.device)
        basis[:, :, 1 : classes + 1] = torch.where(above, width + numbers, width + classes + numbers)
        for side, held in enumerate((above, ~above)):
            row, left = cells[:, :, classes + 1 + side], width + 2 * classes + 2 * side
            row[..., width + side * classes : width + (side + 1) * classes] = 1
            row[..., left], row[..., left + 1], row[..., -1] = 1, -1, epsilon
            row -= (of_class * held[..., None]).sum(dim=2)
            too_much = row[..., -1] < 0
            row *= torch.where(too_much, -1.0, 1.0)[..., None]
            basis[:, :, classes + 1 + side] = torch.where(too_much, left + 1, left)
        variables = torch.arange(number, device=mask.device)
        others = mask.new_ones(batch, number - width)
        usable = torch.cat([mask, others], dim=1)[:, None].expand(-1, walks, -1).flatten(0, 1)
        excess = (variables == number - 3) | (variables == number - 1)
        return cls(cells.flatten(0, 1), basis.flatten(0, 1), usable, width, excess, walks)

    def walk(self, value: _Value) -> None:
        """To the neighbouring corner that is worth most, until no neighbour is worth more."""
        paths = torch.arange(len(self.cells), device=self.cells.device)
        for _ in range(_STEPS):
            cells, basis = self.cells[paths], self.basis[paths]
            held, body = cells[..., -1].clamp(min=0), cells[..., :-1]
            ratio = torch.where(body > _SMALLEST, held[..., None] / body.clamp(min=_SMALLEST), torch.inf)
            amount, row = ratio.min(dim=1)
            may = self.usable[paths] & amount.isfinite()
            may.scatter_(1, basis, value=False)
            amount = torch.where(may, amount, 0.0)
            after = (held[..., None] - body * amount[:, None]).clamp(min=0)
            gain = value(paths, None, amount) + value(paths, basis, after).sum(dim=1)
            gain = (gain - value(paths, basis, held).sum(dim=1, keepdim=True)).masked_fill(~may, -torch.inf)
            best, enters = gain.max(dim=1)
            going = best > _GAIN
            if not going.any():
                break
            paths, cells, enters = paths[going], cells[going], enters[going]
            self._pivot(paths, cells, row[going].gather(1, enters[:, None])[:, 0], enters)

    def _pivot(self, paths: Tensor, cells: Tensor, row: Tensor, enters: Tensor) -> None:
        these = torch.arange(len(paths), device=paths.device)
        pivot = cells[these, row] / cells[these, row, enters][:, None]
        cells -= cells[these, :, enters][..., None] * pivot[:, None]
        cells[these, row] = pivot
        self.cells[paths] = cells
        self.basis[paths, row] = enters

    def attention(self) -> Tensor:
        """(batch, walks, tokens) weights of the corners where the walks are."""
        amounts = torch.zeros_like(self.cells[:, 0, :-1])
        amounts.scatter_(1, self.basis, self.cells[..., -1].clamp(min=0))
        weights = amounts[:, : self.tokens]
        weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=_SMALLEST)
        return weights.reshape(-1, self.walks, self.tokens)


def _divergence(table: _Table, observed: Tensor, penalty: float) -> _Value:
    """The divergence, but for a constant, less `penalty` times the excess."""
    number = table.usable.shape[1]
    there = observed.new_ones(len(observed), number)
    there[:, : table.tokens] = observed
    there = there.repeat_interleave(table.walks, dim=0)
    alone = torch.xlogy(there, there)
    token = ((torch.arange(number, device=there.device) < table.tokens).to(there) / 2).expand_as(there)
    cost = (penalty * table.excess.to(there)).expand_as(there)

    def value(paths: Tensor, held: Tensor | None, amounts: Tensor) -> Tensor:
        other, rest, half, price = (_of(some, paths, held, amounts) for some in (there, alone, token, cost))
        both = amounts + other
        return half * (torch.xlogy(amounts, 2 * amounts) - torch.xlogy(both, both) + rest) - price * amounts

    return value


def _outside(table: _Table, inside: Tensor) -> _Value:
    """As little attention as can be on tokens other than `inside` (batch, walks, tokens), and no excess."""
    cost = torch.zeros(table.usable.shape, dtype=table.cells.dtype, device=table.cells.device)
    cost[:, : table.tokens] = (~inside).flatten(0, 1).to(cost)
    cost += _FORBIDDEN * table.excess

    def value(paths: Tensor, held: Tensor | None, amounts: Tensor) -> Tensor:
        return -_of(cost, paths, held, amounts) * amounts

    return value


def _of(values: Tensor, paths: Tensor, held: Tensor | None, amounts: Tensor) -> Tensor:
    """What belongs to the variables that rows hold, or to all; `values` are (all paths, variables)."""
    found = values[paths] if held is None else values[paths].gather(1, held)
    return found[..., None] if amounts.ndim > found.ndim else found


def _linear(view: AttentionView, part: slice, point: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log-odds of each class against the others, their slope over the attention of tokens, and probabilities."""
    features = view.features[part].double()
    mixed = torch.einsum("bkt,btf->bkf", point, features).requires_grad_()
    with torch.enable_grad():
        logits = view.logits_of_features(mixed, part)
        same = torch.eye(view.classes, dtype=torch.bool, device=logits.device)
        others = logits[..., None, :].masked_fill(same, -torch.inf).logsumexp(dim=-1)
        odds = logits - others
        slopes = [torch.autograd.grad(one.sum(), mixed, retain_graph=True)[0] for one in odds.unbind(dim=-1)]
    slope = torch.einsum("bkcf,btf->bkct", torch.stack(slopes, dim=2), features)
    return odds.detach(), slope, logits.detach().softmax(dim=-1)


def _secants(wanted: Tensor, probability: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """Log-odds for each unit of probability above and below `wanted`: exact where `probability` is within reach.

    Elsewhere, exact at the border: epsilon away, or nearly 0 or 1 if these are nearer.
    """
    change = probability - wanted
    slopes = []
    for room, far, sign in ((1 - wanted, change, 1), (wanted, -change, -1)):
        border = (room * 0.999).clamp(max=epsilon)
        near = (far > 0.05 * border) & (far <= 1.2 * border)
        step = sign * torch.where(near, far, border).clamp(min=_CERTAIN)
        slope = ((torch.logit(wanted + step, _CERTAIN) - torch.logit(wanted, _CERTAIN)) / step).clamp(1e-3, 1e9)
        slopes.append(torch.where(room > 2 * _CERTAIN, slope, 1e9))  # nothing is left to go
    return slopes[0], slopes[1]
