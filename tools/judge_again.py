"""Judge kept comparisons anew by today's margins, without the runs behind them: what was measured stays as it is.

    python tools/judge_again.py results/attefa/compare.json ...

Whether a value agrees with a published one follows from its interval, the published value and a margin alone.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from trueness.report.compare import SCHEMA, judged, summary
from trueness.studies import KINDS, load_study


def again(content: dict[str, Any]) -> dict[str, Any]:
    """The same comparison with today's outcomes."""
    kind = KINDS[load_study(content["study"]).kind]
    rows = judged(content["rows"], kind.published(), kind.margins())
    return {**content, "schema": SCHEMA, "rows": rows, "agreement": summary(rows, kind.published(), kind.margins())}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        found = again(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
