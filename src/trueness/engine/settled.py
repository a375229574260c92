"""Imported last by the server that processes are forked from: what is loaded by now stays, and is not looked through.

Without it the first collection of garbage in every process would read, and so copy, all objects of all libraries.
"""

import gc

gc.collect()
gc.freeze()
