"""Imports every module of this folder, which registers its explainers; this loads torch."""

from importlib import import_module
from pkgutil import iter_modules

from trueness import explainers

MODULES = [
    import_module(f"{explainers.__name__}.{module.name}")
    for module in iter_modules(explainers.__path__)
    if module.name != "catalogue"
]
