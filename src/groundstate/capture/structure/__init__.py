"""What a stream is about: its objects and their lives, its submissions, lists and kernels.

All of it is read from the stream alone, without a driver, and never trusts what it reads.
"""

from groundstate.capture.structure.lifetimes import Life, Lifetimes
from groundstate.capture.structure.outline import Outline
from groundstate.capture.structure.selection import Selection, SelectionError
from groundstate.capture.structure.submissions import (
    Batch,
    Command,
    CommandList,
    Launch,
    Submission,
    Submissions,
)

__all__ = [
    "Batch",
    "Command",
    "CommandList",
    "Launch",
    "Life",
    "Lifetimes",
    "Outline",
    "Selection",
    "SelectionError",
    "Submission",
    "Submissions",
]
