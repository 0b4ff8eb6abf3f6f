"""What `with` closes when its block ends."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """A base for objects with a `close` of their own."""

    def close(self) -> None:
        """Gives up what the object holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
