from groundstate import errors as errors
from groundstate.core import *  # noqa: F403  its __all__ is what users see
from groundstate.profiler.session import profile as profile
from groundstate.version import __version__ as __version__
