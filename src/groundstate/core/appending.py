"""What the files of commands share: that a command can be appended."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from groundstate.core.handle import OwnedHandle

if TYPE_CHECKING:
    from groundstate.core.commands import Events
    from groundstate.core.event import Event


class Appending(OwnedHandle):
    """Something to which commands are appended."""

    @abstractmethod
    def _append(
        self,
        function: str,
        prepared: tuple[Any, ...],
        signal: Event | None,
        wait: Events,
        uses: Iterable[object] = (),
    ) -> None:
        """Appends a command, whose arguments are prepared ones, and keeps what it uses."""
