"""The report of an audit: the page, and audit.json beside it."""

from __future__ import annotations

from pathlib import Path

from trueness.audits.page import write_page
from trueness.audits.saved import write_audit
from trueness.audits.verdict import Audit
from trueness.errors import UserError


def write_report(audit: Audit, path: str | Path, *, no_text: bool = False) -> Path:
    """Write the HTML report, and audit.json beside it under the same name; returns the report.

    With `no_text` neither holds an example of the data.
    """
    page = check_page(path)
    shown = audit.model_copy(update={"examples": ()}) if no_text else audit
    write_audit(shown, page.with_suffix(".json"))
    return write_page(shown, page)


def check_page(path: str | Path) -> Path:
    """Where a report can be written; UserError for a name that is none of an HTML file."""
    page = Path(path)
    if page.suffix not in (".html", ".htm"):
        raise UserError(f"The report is an HTML file: give a name that ends in .html, not {page}.")
    return page
