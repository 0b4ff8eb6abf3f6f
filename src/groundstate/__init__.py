"""Level Zero for every machine: a driver whose device is the CPU you have.

>>> import groundstate as gs
>>> with gs.Context(gs.devices()[0]) as context:
...     memory = context.alloc_shared(1000, "float32")
...     with gs.CommandList.immediate(context) as commands:
...         commands.fill(memory, 1.5)
...     sum(memory.tolist())
1500.0

The objects are in `groundstate.core`, which is imported when one of them is first used: the driver
imports this package too, inside programs that have nothing to do with Python, and needs none of
them. The C API itself, name by name, is in `groundstate.ze`, `zes`, `zet` and `zer`.
"""

from groundstate.version import __version__ as __version__

_FUNCTIONS = ("devices", "drivers", "sysman_devices")


def __getattr__(name: str) -> object:
    # Submodules are asked for here before they are imported, and must not bring in the core.
    if not name[:1].isupper() and name not in _FUNCTIONS and name != "__all__":
        raise AttributeError(f"module 'groundstate' has no attribute {name!r}")
    from groundstate import core

    if name == "__all__":
        return ["__version__", *core.__all__]
    value: object = getattr(core, name, None)
    if value is None:
        raise AttributeError(f"module 'groundstate' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from groundstate import core

    return sorted({*globals(), *core.__all__})
