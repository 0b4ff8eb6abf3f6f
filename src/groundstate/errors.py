"""The exceptions of the objects, one for each error that Level Zero names.

All are `LevelZeroError`, except `ClosedError`, which is a `ValueError`.

>>> import groundstate as gs
>>> with gs.Context(gs.devices()[0]) as context:
...     try:
...         context.alloc_host(1 << 60)
...     except gs.errors.UnsupportedSize as problem:
...         print(problem.result.name)
ZE_RESULT_ERROR_UNSUPPORTED_SIZE
"""

from groundstate.core.errors import *  # noqa: F403  its __all__ is what users see
from groundstate.core.errors import __all__ as __all__
