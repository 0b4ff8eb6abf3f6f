"""Numbers the submissions of a stream, their lists and their kernels, as GITS does.

A submission is counted by each execution of lists and by each immediate list when it is made: all
that an immediate list is given has that one number. Lists count when they are made, kernels when
they are appended, all from 1. So `3/1/5` is the fifth appended kernel, which is in the first list,
as the third submission runs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from groundstate import ze
from groundstate.capture.describe import NamedCall
from groundstate.capture.stream.formats import Phase
from groundstate.capture.structure.commands import (
    Batch,
    Command,
    CommandList,
    Launch,
    Size,
    Submission,
)
from groundstate.capture.structure.graphs import Captured, Graphs
from groundstate.capture.structure.kernels import (
    Kernels,
    argument,
    groups_of,
    listed,
    structure,
)
from groundstate.capture.structure.selection import Selection

__all__ = ["Batch", "Command", "CommandList", "Launch", "Submission", "Submissions"]

_APPENDS = re.compile(r"ze[t]?(RTASBuilder)?CommandListAppend\w+")
_LAUNCHES = re.compile(r"zeCommandListAppendLaunch\w*Kernel\w*")
_EXECUTIONS = {
    "zeCommandQueueExecuteCommandLists": "hCommandQueue",
    "zeCommandListImmediateAppendCommandListsExp": "hCommandListImmediate",
    "zeCommandListImmediateAppendCommandListsWithParameters": "hCommandListImmediate",
}


class Submissions:
    """The submissions that the calls seen so far made."""

    def __init__(self) -> None:
        self.submissions: list[Submission] = []
        self.lists: list[CommandList] = []
        self.launches: list[Launch] = []
        self.kernels = Kernels()
        self._live: dict[int, CommandList] = {}
        self._graphs = Graphs()
        self._submits = 0

    def see(self, call: NamedCall) -> None:
        """Takes in the next call of the stream; one that failed did nothing."""
        if call.call.result != 0 or call.returns != "ze_result_t":
            return
        if call.name in _EXECUTIONS:
            self._execute(call)
        elif _APPENDS.fullmatch(call.name):
            self._append(call)
        elif call.name.startswith("zeCommandList"):
            self._manage(call)
        else:
            self.kernels.see(call)
            self._graphs.see(call)

    def selected(self, selection: Selection) -> Iterator[tuple[Submission, Batch, Command]]:
        """The commands that a selection means: launches, and others where all kernels are."""
        for submission in self.submissions:
            for batch in submission.batches:
                for command in batch.commands:
                    if is_meant(selection, submission, batch, command):
                        yield submission, batch, command

    @property
    def captures(self) -> list[Captured]:
        """What was captured into graphs, in the order in which the captures ended."""
        return self._graphs.captured

    def _manage(self, call: NamedCall) -> None:
        if call.name in (
            "zeCommandListCreate",
            "zeCommandListCreateImmediate",
            "zeCommandListCreateCloneExp",
        ):
            self._create(call)
            return
        mine = self._live.get(argument(call, "hCommandList"))
        if call.name == "zeCommandListDestroy":
            self._live.pop(argument(call, "hCommandList"), None)
        elif mine is None:
            return
        elif call.name == "zeCommandListReset":
            mine.reset()
        elif call.name.startswith("zeCommandListGetNextCommandId"):
            identifiers = listed(call, "pCommandId", Phase.AFTER)
            mine.next_identifier = identifiers[0] if identifiers else None
        elif call.name == "zeCommandListUpdateMutableCommandKernelsExp":
            self._change_kernels(mine, call)
        else:
            self._graphs.see(call)

    def _create(self, call: NamedCall) -> None:
        immediate = call.name == "zeCommandListCreateImmediate"
        parameter = "phClonedCommandList" if "Clone" in call.name else "phCommandList"
        for handle in listed(call, parameter, Phase.AFTER):
            made = CommandList(len(self.lists) + 1, handle, call.number, immediate)
            if immediate:
                self._submits += 1
                made.submit = self._submits
                description = structure(call, "altdesc")
                mode = 0 if description is None else description.mode
                made.synchronous = mode == ze.ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS
            elif "Clone" in call.name and (
                cloned := self._live.get(argument(call, "hCommandList"))
            ):
                made.commands = list(cloned.commands)
            self.lists.append(made)
            self._live[handle] = made

    def _append(self, call: NamedCall) -> None:
        mine = self._live.get(argument(call, "hCommandList"))
        graph = argument(call, "hGraph") if "Graph" in call.name else 0
        command = Command(
            call.number,
            call.name,
            tuple(self._launched(call)),
            self._graphs.commands_of(graph),
            mine.next_identifier if mine is not None else None,
        )
        if mine is None:
            return
        mine.next_identifier = None
        if not mine.immediate:
            mine.add(command)
        elif not self._graphs.takes(mine.handle, call, command):
            batch = Batch(mine, mine.generation, (command,))
            self._submit(call, mine.submit or 0, mine.handle, (batch,))

    def _execute(self, call: NamedCall) -> None:
        self._submits += 1
        target = argument(call, _EXECUTIONS[call.name])
        lists = [self._live.get(x) for x in listed(call, "phCommandLists", Phase.BEFORE)]
        batches = tuple(Batch(x, x.generation, x.held()) for x in lists if x is not None)
        inside = tuple(command for batch in batches for command in batch.commands)
        if not self._graphs.takes(target, call, Command(call.number, call.name, (), inside)):
            self._submit(call, self._submits, target, batches)

    def _submit(
        self, call: NamedCall, number: int, target: int, batches: tuple[Batch, ...]
    ) -> None:
        self.submissions.append(Submission(number, call.number, call.name, target, batches))

    def _launched(self, call: NamedCall) -> Iterator[Launch]:
        if not _LAUNCHES.fullmatch(call.name):
            return
        handles = [argument(call, "hKernel")]
        if "Multiple" in call.name:
            handles = listed(call, "phKernels", Phase.BEFORE)
        groups = None if "Indirect" in call.name else groups_of(call, _groups_in(call.name))
        sizes = structure(call, "groupSizes") if "WithArguments" in call.name else None
        for handle in handles:
            kernel = self.kernels[handle]
            size: Size | None = kernel.group_size
            if sizes is not None:
                size = (sizes.groupSizeX, sizes.groupSizeY, sizes.groupSizeZ)
            number = len(self.launches) + 1
            launch = Launch(number, call.number, kernel.name, handle, groups, size)
            self.launches.append(launch)
            yield launch

    def _change_kernels(self, mine: CommandList, call: NamedCall) -> None:
        identifiers = listed(call, "pCommandId", Phase.BEFORE)
        kernels = listed(call, "phKernels", Phase.BEFORE)
        wanted = dict(zip(identifiers, kernels, strict=False))
        for place, command in enumerate(mine.commands):
            handle = wanted.get(command.identifier or 0)
            if handle is not None and command.launches:
                kernel = self.kernels[handle]
                launch = replace(
                    command.launches[0],
                    kernel=kernel.name,
                    handle=handle,
                    group_size=kernel.group_size,
                )
                mine.replace(place, replace(command, launches=(launch,)))


def _groups_in(function: str) -> str:
    """The parameter of a launch that has the group counts."""
    if "WithArguments" in function:
        return "groupCounts"
    return "pGroupCounts" if "WithParameters" in function else "pLaunchFuncArgs"


def is_meant(selection: Selection, submission: Submission, batch: Batch, command: Command) -> bool:
    """Whether a selection means a command; what launches nothing is meant where all kernels are."""
    if submission.number not in selection.submits or batch.list.number not in selection.lists:
        return False
    if selection.kernels.everything:
        return True
    return any(launch.number in selection.kernels for launch in command.all_launches())
