"""Measurements that print ratios against a named peer or a stated limit, in one run: `make bench`."""
