"""Everything that the fuzzer once found, and the fuzzer itself."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz import campaign, edits, watching
from tests.fuzz.__main__ import main, target_of
from tests.fuzz.targets import TARGETS
from tests.fuzz.targets.libfuzzer import Harness
from tests.fuzz.targets.target import Generator, Target, Verdict

pytestmark = pytest.mark.usefixtures("library")

WITH_CASES = [name for name, target in TARGETS.items() if target.kept()]


@pytest.fixture(params=WITH_CASES)
def watched(request: pytest.FixtureRequest) -> Iterator[watching.Watched]:
    target = TARGETS[request.param]
    if target.missing():
        pytest.skip(target.missing())
    watched = watching.Watched(target)
    yield watched
    watched.close()


def test_every_kept_case_is_in_order(watched: watching.Watched) -> None:
    target = watched.target
    if isinstance(target, Harness):
        assert target.run_all(target.kept()) == ""
    else:
        found = {path.name: watched.check(path.read_bytes()) for path in target.kept()}
        assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    "target",
    [pytest.param(each, id=each.name) for each in TARGETS.values() if isinstance(each, Generator)],
)
def test_the_same_seed_makes_the_same_case(target: Generator) -> None:
    if target.missing():
        pytest.skip(target.missing())
    assert target.generate(random.Random(5)) == target.generate(random.Random(5))
    cases = {target.generate(random.Random(seed)) for seed in range(8)}
    assert len(cases) > 4


def test_folders_of_the_corpus_belong_to_targets() -> None:
    folder = Path(__file__).parent / "corpus"
    assert {path.name for path in folder.iterdir()} <= set(TARGETS)
    assert all(path.stat().st_size <= 16_384 for path in folder.rglob("*") if path.is_file())
    assert all(len(list(path.iterdir())) <= 25 for path in folder.rglob("*") if path.is_dir())


def test_corpus_case_in_folder_finds_its_target() -> None:
    (case, *_) = TARGETS["calls"].kept()
    assert target_of(case).name == "calls"
    assert target_of(case.parent / "f" / case.name).name == "calls"


class Fragile(Generator):
    """A target that goes wrong in every way there is."""

    name = "fragile"
    deadline_s = 1.5

    def generate(self, chance: random.Random) -> bytes:
        return chance.choice((b"fine", b"xxcrashxx", b"xxraisexx", b"xhang", b"xxsayxx"))

    def run(self, case: bytes) -> Verdict:
        import ctypes
        import time

        if b"crash" in case:
            ctypes.string_at(8)
        if b"raise" in case:
            raise ValueError("as asked")
        if b"hang" in case:
            time.sleep(600)
        return Verdict("what it said" if b"say" in case else "")


@pytest.fixture
def fragile(monkeypatch: pytest.MonkeyPatch) -> Target:
    """The child finds the target in a module that it imports."""
    monkeypatch.setitem(TARGETS, "fragile", Fragile())
    code = "from tests.fuzz.test_corpus import Fragile; import tests.fuzz.targets as t"
    code += "; t.TARGETS['fragile'] = Fragile(); import tests.fuzz.child as c; c.main()"
    monkeypatch.setattr(watching, "CHILD", ["-c", code])
    return TARGETS["fragile"]


def test_fuzzer_minimizes_crash_hang_exception(fragile: Target, tmp_path: Path) -> None:
    done = campaign.Campaign(fragile, 1, tmp_path)
    for number, case in enumerate((b"fine", b"xxcrashxx", b"xxraisexx", b"xxsayxx", b"xhang")):
        done._try(case, number)
    done._watched.close()
    found = {finding.case: watching.signature(finding.wrong) for finding in done.tally.findings}
    assert found == {
        b"crash": "signal SIGSEGV",
        b"raise": "ValueError: as asked",
        b"say": "what it said",
        b"hang": watching.HANG,
    }
    assert all(finding.path.read_bytes() == finding.case for finding in done.tally.findings)
    assert "Segmentation fault" in done.tally.findings[0].wrong


def test_fuzz_command_reports_and_replays_finding(
    fragile: Target,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Fragile, "generate", lambda self, chance: b"xxsayxx")
    options = ["fragile", "--minutes", "0.01", "--out", str(tmp_path), "--json"]
    assert main(options) == 1
    (finding,) = json.loads(capsys.readouterr().out)["fragile"]["findings"]
    assert finding["wrong"] == "what it said"
    assert main(["--replay", finding["file"]]) == 1
    assert capsys.readouterr().out == f"{finding['file']}: what it said\n"


def test_a_target_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "there is no target 'nothing'; there are calls" in capsys.readouterr().err


def test_edits_leave_bytes_whatever_they_are() -> None:
    for seed in range(2000):
        chance = random.Random(seed)
        data = chance.randbytes(chance.choice((0, 1, 7, 64)))
        assert isinstance(edits.apply(edits.some(chance), data), bytes)
