"""The structure of the package: layers, and a core that loads without the extras."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lint(folder):
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_layer_check_fails_when_a_forbidden_import_is_added(tmp_path):
    shutil.copytree(ROOT / "src" / "trueness", tmp_path / "trueness")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    clean = lint(tmp_path)
    assert clean.returncode == 0, clean.stdout
    file = tmp_path / "trueness" / "stats" / "rank.py"
    file.write_text(file.read_text() + "\nfrom trueness.engine import Store\n")
    broken = lint(tmp_path)
    assert broken.returncode == 1
    assert "trueness.stats.rank -> trueness.engine" in broken.stdout


def test_the_core_loads_without_the_extras():
    """Stats, engine, data, models and protocols need no plotting, web, command-line or explanation library."""
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"typer", "rich", "jinja2", "vl_convert", "matplotlib", "altair", "captum",
                                  "transformers", "statsmodels", "sklearn", "starlette", "uvicorn"}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import trueness.stats, trueness.engine, trueness.data, trueness.models, trueness.explainers, trueness.protocols
assert not {"torch", "pandas", "scipy.stats"} & set(sys.modules), "the core must load lightly"
"""
    subprocess.run([sys.executable, "-c", code], check=True)
