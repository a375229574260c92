"""A fourth kind of input, in one folder outside the package."""
