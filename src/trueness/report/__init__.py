"""Views of a store: figures, tables, comparison with published values, one-file HTML. Nothing is computed here."""

from trueness.report.compare import compare
from trueness.report.figure import Figure
from trueness.report.figures import figures
from trueness.report.page import figure_bytes, read_result, write_report

__all__ = ["Figure", "compare", "figure_bytes", "figures", "read_result", "write_report"]
