"""What all reports share: pages, figures, tables, heat maps, comparison with published values. Knows no paper."""

from trueness.report.compare import compare
from trueness.report.figure import Figure
from trueness.report.page import figure_bytes, read_result, write_report

__all__ = ["Figure", "compare", "figure_bytes", "read_result", "write_report"]
