"""`cached_property` and `cache` for what every program waits for when it initialises the driver.

The standard ones come with half a dozen other modules, which take longer to import than a tenth of
such a start.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost as much again
if TYPE_CHECKING:
    from functools import cache as cache
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 (like the standard one)
        """A property that is computed once for each instance, and kept in its `__dict__`."""

        def __init__(self, function):
            self.function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.function(instance)
            return value

    def cache(function):
        """The same function, which computes the answer to the same arguments once."""
        known = {}

        def cached(*arguments):
            if arguments not in known:
                known[arguments] = function(*arguments)
            return known[arguments]

        cached.cache_clear = known.clear
        cached.__name__, cached.__doc__ = function.__name__, function.__doc__
        cached.__wrapped__ = function
        return cached
