"""What is said about a module that cannot be read."""

from __future__ import annotations

from groundstate.compiler.errors import BuildError


class InvalidModule(BuildError):  # noqa: N818
    """The module breaks a rule of SPIR-V; the message says which, and where.

    >>> print(InvalidModule("it has no end", offset=40, instruction="OpLabel", function="add"))
    in function 'add', OpLabel at word 40: it has no end
    """

    def __init__(
        self,
        reason: str,
        *,
        offset: int | None = None,
        instruction: str | None = None,
        function: str | None = None,
    ) -> None:
        self.reason = reason
        self.offset = offset
        """Where in the module, in words of four bytes."""
        self.instruction = instruction
        self.function = function
        super().__init__(reason)

    def __str__(self) -> str:
        places = []
        if self.instruction is not None:
            places.append(self.instruction)
        if self.offset is not None:
            places.append(f"at word {self.offset}")
        where = " ".join(places)
        if self.function is not None:
            where = f"in function '{self.function}'" + (f", {where}" if where else "")
        return f"{where}: {self.reason}" if where else self.reason
