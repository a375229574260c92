"""The example notebooks run from top to bottom, and are kept without what they printed."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat reads notebooks; it is in the extra dev.")
nbclient = pytest.importorskip("nbclient", reason="nbclient runs notebooks; it is in the extra dev.")

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SHOWN = {"text": ["<span", "may be shown", "must not be shown", "<polyline"], "image": ["<img", "<svg", "<figure"]}
"""What each one must draw."""


def test_there_are_two_of_them():
    assert [one.stem for one in NOTEBOOKS] == ["image", "text"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_printed_is_kept(path):
    read = nbformat.read(path, as_version=4)
    nbformat.validate(read)
    cells = [cell for cell in read.cells if cell.cell_type == "code"]
    assert cells
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)
    assert path.stat().st_size < 20_000


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_results(path, tmp_path):
    read = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        read, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in read.cells if cell.cell_type == "code" for output in cell.outputs]
    pages = "".join(
        "".join(text for form, text in output.get("data", {}).items() if form in ("text/html", "image/svg+xml"))
        for output in outputs
    )
    assert all(part in pages for part in SHOWN[path.stem])
    errors = [output.get("text", "") for output in outputs if output.get("name") == "stderr"]
    assert not any("Warning" in text for text in errors), errors
