"""What `make readme` runs of a page."""

from pathlib import Path

from tools.run_readme import NOT_RUN, commands, why_not

README = Path(__file__).parents[2] / "README.md"
PAGE = """
Use `trueness` so: `trueness list`, then

```
trueness audit m/ r.csv --gate gate.toml    # a comment
trueness.txt
make demo     # first
```

```python
import trueness as tn
```

```toml
make = 1
```

| say | `trueness explain m --text "a # b"` | `pip install '.[data]'` |
"""


def test_commands_are_found_in_their_order():
    assert list(commands(PAGE)) == [
        ("shell", "trueness list"),
        ("shell", "trueness audit m/ r.csv --gate gate.toml"),
        ("shell", "make demo"),
        ("python", "import trueness as tn\n"),
        ("shell", 'trueness explain m --text "a # b"'),
        ("shell", "pip install '.[data]'"),
    ]


def test_the_readme_is_run_but_for_what_has_a_reason():
    found = [code for _, code in commands(README.read_text(encoding="utf-8"))]
    run = [code for code in found if why_not(code) is None]
    names = {code.split()[1] for code in run if code.startswith("trueness ")}
    assert names >= {"audit", "explain", "adversarial-attention", "agreement", "dry-run", "serve", "rate", "list"}
    assert all(code.startswith(("trueness ", "import trueness")) for code in run)
    assert {why_not(code) for code in found} - {None} == set(NOT_RUN.values())
