"""Records and enumerations of system management hold everything that those of the API hold."""

from __future__ import annotations

import enum
import inspect
import json
from collections.abc import Iterator

from groundstate import sysman, zes
from groundstate.core.properties import HEADER, PciAddress
from groundstate.core.sysman import enums
from groundstate.core.sysman.records import SUBDEVICE, Record, plain, sources_of


def all_records(kind: type[Record] = Record) -> Iterator[type[Record]]:
    """Every record that is read from a struct."""
    for each in kind.__subclasses__():
        if each.STRUCT:
            yield each
        yield from all_records(each)


NOT_IN_ITS_RECORD = {
    "zes_fan_config_t": {"speedTable"},
}
"""Fields that are read by hand, because they are lists inside of a struct."""


def test_no_field_of_a_struct_is_forgotten() -> None:
    kinds = set(all_records())
    assert len(kinds) > 20
    for kind in kinds:
        read: set[str] = set()
        for source in sources_of(kind):
            read |= {source.raw} if source.raw else set(SUBDEVICE)
        there = {name for name, *_ in kind.struct()._fields_ if name not in HEADER}
        assert there - read == NOT_IN_ITS_RECORD.get(kind.STRUCT, set()), kind
        assert read <= there, kind


def test_enumerations_have_the_members_of_the_api() -> None:
    for kind, raw_name in enums.RAW_NAMES.items():
        prefix = raw_name.removesuffix("_t").upper() + "_"
        raw = {
            name.removeprefix(prefix).replace("3D", "THREE_D"): int(value)
            for name, value in getattr(zes, raw_name).__members__.items()
        }
        assert {name: int(member) for name, member in kind.__members__.items()} == raw


def test_every_enumeration_is_compared() -> None:
    made = {each for each in vars(enums).values() if isinstance(each, enum.EnumType)}
    assert {each for each in made if each.__module__ == enums.__name__} == set(enums.RAW_NAMES)


def test_what_nobody_knows_is_none() -> None:
    memory = zes.zes_mem_properties_t(busWidth=-1, numChannels=2, subdeviceId=3)
    facts = sysman.MemoryModuleProperties.read(memory)
    assert (facts.bus_width_bits, facts.channels) == (None, 2)
    assert facts.physical_bytes is None
    assert facts.subdevice is None
    memory.onSubdevice, memory.physicalSize = 1, 1 << 40
    facts = sysman.MemoryModuleProperties.read(memory)
    assert (facts.subdevice, facts.physical_bytes) == (3, 1 << 40)


def test_a_name_that_nobody_knows_is_none() -> None:
    firmware = zes.zes_firmware_properties_t(name=b"microcode", version=b"unknown")
    facts = sysman.FirmwareProperties.read(firmware)
    assert (facts.name, facts.version) == ("microcode", None)


def test_a_zero_that_was_measured_stays_a_zero() -> None:
    clock = sysman.FrequencyState.read(zes.zes_freq_state_t(actual=0.0, tdp=-1.0))
    assert (clock.actual_mhz, clock.tdp_mhz) == (0.0, None)


def test_unknown_enum_value_stays_a_number() -> None:
    assert sysman.EngineProperties.read(zes.zes_engine_properties_t(type=99)).group == 99


def test_records_become_plain_data() -> None:
    link = sysman.PciSpeed(4, 16, None)
    state = sysman.PciState(
        sysman.PciLinkStatus.GOOD,
        sysman.PciQualityIssue.SPEED | sysman.PciQualityIssue.REPLAYS,
        sysman.PciStabilityIssue(0),
        link,
    )
    facts = state.as_dict()
    assert json.loads(json.dumps(facts)) == {
        "status": "GOOD",
        "quality_issues": ["REPLAYS", "SPEED"],
        "stability_issues": [],
        "speed": {"generation": 4, "lanes": 16, "bytes_per_second": None},
    }
    assert plain(PciAddress(0, 3, 0, 1)) == "0000:03:00.1"
    assert plain({sysman.ErrorCategory.RESET: 2}) == {"RESET": 2}


def test_a_public_name_is_explained_in_a_sentence() -> None:
    for name in sysman.__all__:
        first = (inspect.getdoc(getattr(sysman, name)) or "").splitlines()[0]
        assert first[0].isupper(), (name, first)
        assert first.endswith((".", ":")), (name, first)


def test_public_methods_and_properties_have_docs() -> None:
    missing = [
        f"{name}.{member}"
        for name in sysman.__all__
        if inspect.isclass(thing := getattr(sysman, name)) and not issubclass(thing, enum.Enum)
        for member, value in vars(thing).items()
        if not member.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, property))
        and not inspect.getdoc(value)
    ]
    assert missing == []


def change_of(*power: sysman.PowerUse) -> sysman.Change:
    """What happened to a device with these power domains."""
    return sysman.Change(1.0, (), (), (), power, None, None)


def test_device_power_counts_no_domain_twice() -> None:
    domain, use = sysman.PowerDomainType, sysman.PowerUse
    assert change_of().watts is None
    assert change_of(use(domain.PACKAGE, None, None)).watts is None
    packages = (use(domain.PACKAGE, 0, 30.0), use(domain.PACKAGE, 1, 20.0))
    assert change_of(*packages, use(domain.MEMORY, None, 5.0)).watts == 55.0
    assert change_of(*packages, use(domain.PACKAGE, None, 50.0)).watts == 50.0
    assert change_of(*packages, use(domain.CARD, None, 70.0)).watts == 70.0


def test_a_counter_that_went_back_tells_nothing() -> None:
    before, after = sysman.EngineActivity(500, 1000), sysman.EngineActivity(400, 2000)
    assert after.since(before) is None
    assert before.since(before) is None
    assert sysman.EngineActivity(9000, 2000).since(before) == 1.0, "no more than all of the time"
    assert sysman.EnergyCounter(5, 10).watts_since(sysman.EnergyCounter(6, 9)) is None
