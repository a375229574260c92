"""What all reports share: pages, heat maps, comparison with published values, pieces of figures and tables.

It knows no paper. It counts which of our values meet published ones, and writes means and deviations into cells; what a
figure or table shows beyond that is in the store, or computed in the folder of its paper.
"""

from trueness.report.compare import compare
from trueness.report.figure import Figure
from trueness.report.measurement import Measurement
from trueness.report.page import read_result, write_report

__all__ = ["Figure", "Measurement", "compare", "read_result", "write_report"]
