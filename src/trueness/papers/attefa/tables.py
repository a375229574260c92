"""Tables 2 to 5 of AtteFa (2022), ours beside the published values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueness.protocols.attefa.cell import MAIN, PUBLISHED, TwinCell, cells_of
from trueness.protocols.result import Result
from trueness.report.table import Table
from trueness.studies.kinds import Published

if TYPE_CHECKING:
    import pandas as pd

_QUANTITIES = ("F1", "TVD", "divergence of attention", "AtteFa")


def tables(result: Result, published: Published) -> list[Table]:
    """Table 2 (base models), Table 3 (means over seeds), Tables 4 and 5 (every seed)."""
    cells = cells_of(result)
    found = [_table_2(cells, published)]
    twins = [cell for cell in cells if len(cell.of(PUBLISHED, MAIN))]
    return [*found, _table_3(twins, published), _tables_4_5(twins, published)] if twins else found


def _table_2(cells: list[TwinCell], published: Published) -> Table:
    rows = [
        (
            cell.dataset,
            cell.model,
            _fact(published, "F1", cell, "base model"),
            f"{cell.base['performance']:.3f}",
            f"{cell.base['constant']:.3f}",
            f"{cell.most:.3f}",
            "–" if cell.reached is None else f"{cell.reached:.3f}",
        )
        for cell in cells
    ]
    header = ("dataset", "model", "F1: paper", "F1: ours", "best constant", "largest divergence", "reached")
    caption = (
        "F1 of the base models on the test split (macro-F1 for more than two classes). Best constant: the change of "
        "prediction of the constant nearest to the base model. Largest divergence: ln 2, or less where equal words "
        "have equal weights; reached: the most of any twin."
    )
    return Table("table-2", "Table 2: base models", caption, header, tuple(rows))


def _table_3(cells: list[TwinCell], published: Published) -> Table:
    header = ["dataset", "model"]
    for quantity in _QUANTITIES:
        header += [f"{quantity}: paper", "ours"]
    header += ["collapsed", "AtteFa*"]
    rows = []
    for cell in cells:
        values, row = _values(cell), [cell.dataset, cell.model]
        for quantity in _QUANTITIES:
            row += [_fact(published, quantity, cell), _spread(values[quantity])]
        runs = cell.of(PUBLISHED, MAIN)
        row += [f"{len(cell.collapsed(runs))} of {len(runs)}", _spread(cell.star())]
        rows.append(tuple(row))
    caption = (
        "Means over seeds ± standard deviation. TVD is half of the change of prediction. Collapsed: twins of ours that "
        "predict one class. AtteFa* is ours: relative to a constant predictor and to the divergence within reach."
    )
    return Table("table-3", "Table 3: twins", caption, tuple(header), tuple(rows))


def _tables_4_5(cells: list[TwinCell], published: Published) -> Table:
    header = ["dataset", "model", "seed"]
    for quantity in _QUANTITIES:
        header += [f"{quantity}: paper", "ours"]
    rows = []
    for cell in cells:
        values = _values(cell)
        for seed in cell.of(PUBLISHED, MAIN)["seed"]:
            row = [cell.dataset, cell.model, str(seed)]
            for quantity in _QUANTITIES:
                ours = values[quantity].get(seed)
                row += [
                    _fact(published, f"{quantity}, seed {seed}", cell),
                    "–" if ours is None else f"{ours:.3f}",
                ]
            rows.append(tuple(row))
    caption = "Every twin. The seeds are the paper's; they do not give the same random numbers in another program."
    return Table("tables-4-5", "Tables 4 and 5: every seed", caption, tuple(header), tuple(rows))


def _values(cell: TwinCell) -> dict[str, pd.Series]:
    runs = cell.of(PUBLISHED, MAIN).set_index("seed")
    return {
        "F1": runs["performance"],
        "TVD": runs["change"] / 2,
        "divergence of attention": runs["divergence"],
        "AtteFa": cell.attefa(PUBLISHED),
    }


def _fact(published: Published, quantity: str, cell: TwinCell, method: str = PUBLISHED) -> str:
    fact = published.get((quantity, cell.dataset, cell.model, method))
    if fact is None:
        return "–"
    if not fact["published_high"]:
        return str(fact["published"])
    return f"{fact['published']} ({fact['published_low']} to {fact['published_high']})"


def _spread(values: pd.Series) -> str:
    if not len(values):
        return "–"
    return f"{values.mean():.3f} ± {values.std(ddof=0):.3f}"
