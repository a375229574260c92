"""The wheel holds all that lies in the package: templates, study files, published values."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_wheel_holds_every_file_of_the_package(tmp_path):
    build = "from hatchling.build import build_wheel; import sys; build_wheel(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", build, tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    held = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("trueness/")}
    source = ROOT / "src"
    kept = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert kept == held
