"""What is in the rows of a file, each checked; one without a label is a fault here."""

from trueness.kinds.text.data import folder


def checked(rows):
    return [(number, folder.checked(row)) for number, row in rows]
