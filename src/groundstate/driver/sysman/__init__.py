"""System management: what the `zes` functions answer.

Most programs never call one, so a noun's file is imported when the first of its functions is. What
the driver hands to the native library is a stand-in for each function: it imports the noun, and
turns what the readers of the machine raise into the results of the specification.
"""

from __future__ import annotations

from groundstate import ze
from groundstate.driver.api import HANDLERS, Failure, Handler, stand_in
from groundstate.driver.sysman.functions import NOUNS


def stand_ins() -> dict[str, Handler]:
    """A light function for each `zes` function that the driver has."""
    return {name: _stand_in(name, noun) for name, noun in NOUNS.items()}


def _stand_in(name: str, noun: str) -> Handler:
    handler = stand_in(name, f"{__name__}.{noun}", HANDLERS)

    def answer(*arguments: int) -> int | None:
        try:
            return handler(*arguments)
        except PermissionError as refused:
            result = ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS
            raise Failure(result, _sentence(refused)) from refused
        except ValueError as nonsense:
            raise Failure(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, str(nonsense)) from nonsense

    return answer


def _sentence(refused: PermissionError) -> str:
    """What the reader said, or what the system said about a file."""
    if refused.filename is None:
        return str(refused)
    return f"{refused.filename} may not be used by this user: ask for the right, or run as root"
