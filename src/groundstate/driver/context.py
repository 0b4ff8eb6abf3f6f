"""Contexts live in native/; here is what Python keeps for one."""

from groundstate.driver import module, virtual_memory
from groundstate.driver.api import handler


@handler
def zeContextDestroy(hContext: int) -> None:
    """Gives up what was made in a context that is lost: the native half asks for it then."""
    module.forget_context(hContext)
    virtual_memory.forget_context(hContext)
