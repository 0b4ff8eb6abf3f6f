"""Bad arguments get the status that oneDNN gives, by asking it."""

from __future__ import annotations

import pytest

from tests.dnn.reference import facts, misuse, misuse_execution, mutations
from tests.dnn.reference.client import Session
from tests.dnn.reference.contender import THERE
from tests.dnn.reference.families import FAMILIES
from tests.dnn.reference.worker import Reference

# Where the reference ends its process.
CRASHES = ("post_op_binary_without_descriptor",)
# What the reference lets pass, and reads or writes beyond a tensor then; or a direction of a
# recurrent layer that there is not. Ours refuses it.
STRICTER_CALLS = ("post_op_sum_of_an_unknown_type",)
STRICTER = {
    ("pooling", "dst one rank more"),
    ("pooling", "diff_src one rank less"),
    ("prelu", "weights dim"),
    ("prelu", "diff_weights"),
    ("vanilla_rnn", "3 4->"),
    ("lstm", "2 4->"),
    ("gru", "2 4->"),
    ("lbr_gru", "2 4->"),
}
ONLY_FORWARD = ("matmul", "binary", "reduction", "concat", "sum", "reorder")
BOTH_WAYS = [(name, False) for name in THERE] + [
    (name, True) for name in THERE if name not in ONLY_FORWARD
]


def named(status: int) -> str:
    return facts.STATUS_NAMES.get(status, str(status))


def test_calls_with_wrong_arguments(ours: Session, reference: Reference) -> None:
    names = [name for name in misuse.CASES if name not in CRASHES]
    told = reference.ask(f"{misuse_execution.__name__}:statuses", names)
    expected = dict(zip(names, told, strict=True)) | dict.fromkeys(CRASHES, facts.INVALID_ARGUMENTS)
    got = {name: misuse.status(ours, name) for name in expected}
    wrong = {
        name: f"{named(got[name])}, not {named(status)}"
        for name, status in expected.items()
        if got[name] != status and name not in STRICTER_CALLS
    }
    assert not wrong


@pytest.mark.parametrize(("family", "backward"), BOTH_WAYS)
def test_bad_descriptors(family: str, backward: bool, ours: Session, reference: Reference) -> None:
    problem = mutations.good_problem(FAMILIES[family], backward)
    assert ours.run(problem).status == facts.SUCCESS
    bad = dict(mutations.mutations(problem))
    asked = [label for label in bad if not label.endswith(mutations.REFERENCE_CRASHES)]
    told = reference.ask(
        "tests.dnn.reference.misuse:descriptor_statuses", [bad[label] for label in asked]
    )
    expected = dict.fromkeys(bad, facts.INVALID_ARGUMENTS) | dict(zip(asked, told, strict=True))
    wrong = {}
    for label, status in expected.items():
        got = ours.run(bad[label]).status
        if not agree(status, got) and not is_stricter(family, label, got):
            wrong[label] = f"{named(got)}, not {named(status)}"
    assert not wrong


def is_stricter(family: str, label: str, status: int) -> bool:
    """Whether ours refuses, for good reason, what the reference does not look at."""
    known = any(name == family and label.startswith(start) for name, start in STRICTER)
    return known and status == facts.INVALID_ARGUMENTS


def agree(theirs: int, ours: int) -> bool:
    """What is valid may be in one library only; what is invalid is so in both."""
    valid = (facts.SUCCESS, facts.UNIMPLEMENTED)
    return ours in valid if theirs in valid else ours == theirs
