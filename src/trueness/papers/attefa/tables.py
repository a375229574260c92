"""Tables 2 to 5 of AtteFa (2022), ours beside the published values."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from trueness.protocols.attefa.cell import MAIN, PUBLISHED, TwinCell, cells_of
from trueness.protocols.result import Result
from trueness.report.table import NOTHING, Table, number, number_within, spread
from trueness.studies.kinds import Published

_QUANTITIES = ("F1", "TVD", "divergence of attention", "AtteFa")
_BOTH = tuple(name for quantity in _QUANTITIES for name in (f"{quantity}: paper", "ours"))


def tables(result: Result, published: Published) -> Iterator[Table]:
    """Table 2 (base models), Table 3 (means over seeds), Tables 4 and 5 (every seed)."""
    cells = cells_of(result)
    yield _table_2(cells, published)
    twins = [cell for cell in cells if len(cell.of(PUBLISHED, MAIN))]
    if twins:
        yield _table_3(twins, published)
        yield _tables_4_5(twins, published)


def _table_2(cells: list[TwinCell], published: Published) -> Table:
    rows = []
    for cell in cells:
        ours = (cell.base["performance"], cell.base["constant"], cell.most, cell.reached)
        rows.append((cell.dataset, cell.model, _fact(published, "F1", cell, "base model"), *map(number, ours)))
    header = ("dataset", "model", "F1: paper", "F1: ours", "best constant", "largest divergence", "reached")
    caption = (
        "F1 of the base models on the test split (macro-F1 for more than two classes). Best constant: the change of "
        "prediction of the constant nearest to the base model. Largest divergence: ln 2, or less where equal words "
        "have equal weights; reached: the most of any twin."
    )
    return Table("table-2", "Table 2: base models", caption, header, tuple(rows))


def _table_3(cells: list[TwinCell], published: Published) -> Table:
    rows = []
    for cell in cells:
        row, runs = [cell.dataset, cell.model], cell.of(PUBLISHED, MAIN)
        for quantity, values in _values(cell).items():
            row += [_fact(published, quantity, cell), spread(values)]
        rows.append((*row, f"{len(cell.collapsed(runs))} of {len(runs)}", spread(cell.star())))
    header = ("dataset", "model", *_BOTH, "collapsed", "AtteFa*")
    caption = (
        "Means over seeds ± standard deviation. TVD is half of the change of prediction. Collapsed: twins of ours that "
        "predict one class. AtteFa* is ours: relative to a constant predictor and to the divergence within reach."
    )
    return Table("table-3", "Table 3: twins", caption, header, tuple(rows))


def _tables_4_5(cells: list[TwinCell], published: Published) -> Table:
    rows = []
    for cell in cells:
        for seed in cell.of(PUBLISHED, MAIN)["seed"]:
            row = [cell.dataset, cell.model, str(seed)]
            for quantity, values in _values(cell).items():
                row += [_fact(published, f"{quantity}, seed {seed}", cell), number(values.get(seed))]
            rows.append(tuple(row))
    caption = "Every twin. The seeds are the paper's; they do not give the same random numbers in another program."
    return Table("tables-4-5", "Tables 4 and 5: every seed", caption, ("dataset", "model", "seed", *_BOTH), tuple(rows))


def _values(cell: TwinCell) -> dict[str, pd.Series]:
    """Each quantity by seed."""
    runs = cell.of(PUBLISHED, MAIN).set_index("seed")
    found = (runs["performance"], runs["change"] / 2, runs["divergence"], cell.attefa_of_twins(PUBLISHED))
    return dict(zip(_QUANTITIES, found, strict=True))


def _fact(published: Published, quantity: str, cell: TwinCell, method: str = PUBLISHED) -> str:
    fact = published.get((quantity, cell.dataset, cell.model, method))
    if fact is None:
        return NOTHING
    return number_within(*(fact[name] for name in ("published", "published_low", "published_high")))
