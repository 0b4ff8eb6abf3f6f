"""Text of strangers, such as names in modules and recordings, on its way to a person or a file."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text in one line, with an escape for each character that would do something.

    >>> print(printable("blur\n\x1b[2Jdone"))
    blur\n\x1b[2Jdone
    >>> printable("größer")
    'größer'
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def printable_lines(text: str) -> str:
    r"""The same for a text of several lines, whose ends and tabs stay.

    >>> print(printable_lines("error:\n  in \x1b[2Jblur"))
    error:
      in \x1b[2Jblur
    """
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))
