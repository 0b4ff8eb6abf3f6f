"""Cuts small streams out of recordings: a range of submissions, or one launch of a kernel."""

from groundstate.capture.subcapture.cut import Cut, cut_by_kernel, cut_by_selection
from groundstate.capture.subcapture.cutter import Outcome, subcapture
from groundstate.capture.subcapture.errors import CutError

__all__ = ["Cut", "CutError", "Outcome", "cut_by_kernel", "cut_by_selection", "subcapture"]
