"""Plays recordings on any Level Zero driver; see docs/howto/playing.md."""

from groundstate.capture.play.errors import PlayError, UnplayableError
from groundstate.capture.play.options import Options
from groundstate.capture.play.player import Observer, Player
from groundstate.capture.play.report import Difference, Report

__all__ = ["Difference", "Observer", "Options", "PlayError", "Player", "Report", "UnplayableError"]
