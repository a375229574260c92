"""What trueness is made of: a software bill of materials, and a check that no licence asks for more than ours.

`python tools/dependencies.py licences` fails where a dependency is under the GPL, LGPL or AGPL; `sbom FILE` writes
all of them as CycloneDX. Looked at is what is installed for `trueness[report,dev]`.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

_COPYLEFT = re.compile(r"\b[AL]?GPL|GNU (Affero |Lesser |Library or Lesser )?General Public")
_EXTRAS = frozenset({"report", "dev"})


@dataclass(frozen=True)
class Package:
    """A dependency; its licence as its own metadata say it."""

    name: str
    version: str
    licence: str

    @property
    def allowed(self) -> bool:
        """Whether it says its licence, and that is not of the GPL's family, or another one can be chosen instead."""
        choices = [self.licence] if " AND " in self.licence else self.licence.split(" OR ")
        return bool(self.licence) and not all(_COPYLEFT.search(choice) for choice in choices)


def licence_of(metadata: Any) -> str:
    """The SPDX expression; else the classifiers; else the first line of the old field."""
    if expression := metadata.get("License-Expression"):
        return str(expression)
    classifiers = [line for line in metadata.get_all("Classifier") or [] if line.startswith("License ::")]
    named = [line.split(" :: ")[-1] for line in classifiers if line != "License :: OSI Approved"]
    return " AND ".join(named) or str(metadata.get("License") or "").strip().partition("\n")[0]


def dependencies(name: str, extras: frozenset[str] = frozenset()) -> list[Package]:
    """All that an installed package needs here, directly or not, in the order of names."""
    seen: dict[str, set[str]] = {}

    def walk(name: str, extras: frozenset[str]) -> None:
        new = {"", *extras} - seen.setdefault(canonicalize_name(name), set())
        seen[canonicalize_name(name)] |= new
        for line in importlib.metadata.requires(name) or [] if new else []:
            need = Requirement(line)
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in new):
                walk(need.name, frozenset(need.extras))

    walk(name, extras)
    return list(_packages(seen.keys() - {canonicalize_name(name)}))


def _packages(names: set[str]) -> Iterator[Package]:
    for name in sorted(names):
        about: Any = importlib.metadata.metadata(name)
        # +cpu and the like: where a build came from, not what it is.
        yield Package(name, Version(about["Version"]).public, licence_of(about))


def sbom(packages: list[Package]) -> dict[str, Any]:
    """The packages as a CycloneDX document, the same for the same packages."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "library", "name": "trueness", "licenses": [{"expression": "Apache-2.0"}]}},
        "components": [
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{package.name}@{package.version}",
                "name": package.name,
                "version": package.version,
                "purl": f"pkg:pypi/{package.name}@{package.version}",
                "licenses": [{"license": {"name": package.licence}}],
            }
            for package in packages
        ],
    }


def main(arguments: list[str]) -> int:
    """0 where all licences are allowed, or the bill was written."""
    packages = dependencies("trueness", _EXTRAS)
    if arguments[0] == "sbom":
        Path(arguments[1]).write_text(json.dumps(sbom(packages), indent=1) + "\n", encoding="utf-8")
        return 0
    refused = [package for package in packages if not package.allowed]
    for package in refused:
        print(f"{package.name} {package.version}: {package.licence or 'no licence is stated'}")
    print(f"{len(packages)} dependencies, {len(refused)} under a licence that is not allowed")
    return int(bool(refused))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
