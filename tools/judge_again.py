"""Judge kept comparisons anew by today's published values and margins, without the runs: what was measured stays.

    python tools/judge_again.py results/attefa/compare.json ...

Whether a value agrees with a published one follows from its interval, the published value and a margin alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from trueness.report.compare import SCHEMA, beside, judged, numbers, summary
from trueness.studies import KINDS, load_study


def again(content: dict[str, Any]) -> dict[str, Any]:
    """The same comparison with today's outcomes."""
    kind = KINDS[load_study(content["study"]).kind]
    published = kind.published()
    rows = [
        beside(row, published) if row["compared_with"] is None else {**row, **numbers(row, published)}
        for row in content["rows"]
    ]
    rows = judged(rows, published, kind.margins())
    return {**content, "schema": SCHEMA, "rows": rows, "agreement": summary(rows, published, kind.margins())}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        found = again(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
