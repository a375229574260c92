"""Saved classifiers of texts: of which family one is, and how it is loaded; nothing in its folder is executed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.boundary import check_folder, exists, is_file, read_json, short
from trueness.errors import UserError
from trueness.kinds.text.models.families import TEXT_MODELS, Family, as_family
from trueness.plugins import is_address

if TYPE_CHECKING:
    from trueness.kinds.text.models.classifier import Classifier


def foreign(config: Path, family: Any) -> UserError:
    """That a saved model is of a family of somebody else's, whose code runs only if the user names it."""
    said = short(family)
    copied = is_address(said) and said.isprintable()  # it may be put into a shell as it stands
    written, flag = (repr(said), shlex.quote(said)) if copied else ("...", "ADDRESS")
    return UserError(
        f"{config} names the family {said!r}, which is not registered, and code is run only if you give it yourself: "
        f"load_model({str(config.parent)!r}, family={written}), or --family {flag}."
    )


def recognise(folder: str | Path, family: Any = None) -> tuple[Family, dict[str, Any]]:
    """The family of a saved classifier, registered or given, and its config.json; no code is looked for by its name."""
    path = Path(folder) / "config.json"
    if not exists(Path(folder)):
        raise UserError(f"There is no model {folder}.")
    if not is_file(path):
        way = (
            f"; a function in it is named {folder}:NAME"
            if Path(folder).suffix == ".py" and Path(folder).is_file()
            else ""
        )
        raise UserError(f"{folder} is not a model: it has no config.json{way}.")
    check_folder(Path(folder))
    config = read_json(path)
    if not isinstance(config, dict):
        raise UserError(f"{path} does not describe a model.")
    known = [TEXT_MODELS[name] for name in TEXT_MODELS]
    if family is not None:
        known = [TEXT_MODELS[family] if isinstance(family, str) else as_family(family, str(config.get("family")))]
    for one in known:
        if one.recognises(config):
            return one, config
    if "family" not in config:
        raise UserError(f"{path} describes no model of trueness, nor one that save_pretrained of transformers wrote.")
    raise foreign(path, config["family"])


def load_model(folder: str | Path, device: str = "cpu", family: Any = None) -> Classifier:
    """Any saved text classifier; nothing in its folder is executed. Somebody else's family is given: name or class."""
    found, config = recognise(folder, family)
    return found.load(Path(folder), config, device)
