"""The wheel holds all that lies in the package: templates, study files, published values."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(folder, root=ROOT):
    """The wheel of a source tree."""
    command = "from hatchling.build import build_wheel; import sys; build_wheel(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", command, folder], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_the_wheel_holds_every_file_of_the_package(tmp_path):
    wheel = build(tmp_path)
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("trueness/")}
    source = ROOT / "src"
    kept = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert kept == held


def test_the_same_source_gives_the_same_wheel_with_its_bill_of_materials(tmp_path):
    """Elsewhere, later, by somebody with other rights."""
    copy = tmp_path / "copy"
    for name in ("src", "docs/sbom.cdx.json", "pyproject.toml", "README.md", "LICENSE"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, copy / name, ignore=skipped) if name == "src" else shutil.copyfile(
            ROOT / name, copy / name
        )
    for path in copy.rglob("*.py"):
        path.chmod(0o600)
        os.utime(path, (1e9, 1e9))
    here, there = (folder for folder in (tmp_path / "here", tmp_path / "there") if folder.mkdir() is None)
    first, second = build(here), build(there, copy)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        (bill,) = [name for name in archive.namelist() if name.endswith(".dist-info/sboms/sbom.cdx.json")]
        assert archive.read(bill) == (ROOT / "docs/sbom.cdx.json").read_bytes()
