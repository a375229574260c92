"""One folder a paper: study files, schema and plan, published values, claims, figures, tables, published methods.

To add a kind of study is a folder here and a line in `trueness/__init__.py`; see `docs/architecture.md`.
"""
