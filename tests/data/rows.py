"""What is in the rows of a file, each checked; one without a label is a fault here."""

from trueness.kinds.text.data.folder import usable


def checked(rows):
    return [(number, usable(row) or "there is no label") for number, row in rows]
