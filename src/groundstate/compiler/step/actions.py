"""How a stepped operation is executed: functions of a work-item."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groundstate.compiler.ir import Node
from groundstate.compiler.spirv.types import Type, Vector
from groundstate.compiler.step.values import Value

if TYPE_CHECKING:
    from groundstate.compiler.step.work_item import WorkItem

Action = Callable[["WorkItem"], Value]
Get = Callable[["WorkItem"], Any]
Frame = Callable[[Node], Get]
"""How the value of an operand is had."""


class StepError(Exception):
    """A work-item does something that cannot be done. Its text goes on from its name."""


def element_of(kind: Type) -> Type:
    """What a vector consists of, or the type itself."""
    return kind.element if isinstance(kind, Vector) else kind
