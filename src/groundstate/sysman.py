"""System management as objects: every class and enumeration behind `device.sysman`.

>>> import groundstate as gs
>>> from groundstate import sysman
>>> [engine.group == sysman.EngineGroup.ALL for engine in gs.devices()[0].sysman.engines][:2]
[True, False]
"""

from groundstate.core.sysman import *  # noqa: F403  its __all__ is what users see
from groundstate.core.sysman import __all__ as __all__
