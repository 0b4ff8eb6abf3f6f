"""Counters of errors, and how many of them a program accepts before it wants to be told."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

from groundstate import ze, zes
from groundstate.driver.api import (
    Failure,
    Unsupported,
    answer_structs,
    handler,
    read_u32,
    take_count,
)
from groundstate.driver.sysman import kinds, thresholds
from groundstate.driver.sysman.handles import enumerate_parts, part_of
from groundstate.driver.sysman.parts import ErrorCounters
from groundstate.driver.sysman.structs import write_place

_CATEGORY_BYTES = 4
_MOST_CATEGORIES = 64
_OLD_CATEGORIES = zes.ZES_MAX_RAS_ERROR_CATEGORY_COUNT
_CATEGORIES = frozenset(
    int(value) for value in zes.zes_ras_error_category_exp_t if "FORCE_UINT32" not in value.name
)


@handler
def zesDeviceEnumRasErrorSets(hDevice: int, pCount: int, phRas: int) -> None:
    enumerate_parts(pCount, phRas, kinds.watched(hDevice).errors(), "zes_ras_handle_t")


@handler
def zesRasGetProperties(hRas: int, pProperties: int) -> None:
    counters = part_of(hRas, ErrorCounters)
    properties = zes.zes_ras_properties_t.from_address(pProperties)
    write_place(properties, counters)
    properties.type = counters.type


@handler
def zesRasGetState(hRas: int, clear: int, pState: int) -> None:
    counters = part_of(hRas, ErrorCounters)
    _write_old(zes.zes_ras_state_t.from_address(pState), counters.counts())
    if clear:
        counters.clear()


def _old_category(category: int) -> int:
    """The first version of the specification had no category for memory, fabrics and links.

    They are hardware that does not compute.
    """
    if category < _OLD_CATEGORIES:
        return category
    return int(zes.ZES_RAS_ERROR_CAT_NON_COMPUTE_ERRORS)


def _write_old(state: ctypes.Structure, counts: Mapping[int, int]) -> None:
    sums = [0] * _OLD_CATEGORIES
    for category, count in counts.items():
        sums[_old_category(category)] += count
    for category, count in enumerate(sums):
        state.category[category] = count


@handler
def zesRasGetStateExp(hRas: int, pCount: int, pState: int) -> None:
    counts = part_of(hRas, ErrorCounters).counts()
    answer_structs(pCount, pState, zes.zes_ras_state_exp_t, list(counts.items()), _write_counter)


def _write_counter(state: ctypes.Structure, item: tuple[int, int]) -> None:
    state.category, state.errorCounter = item


@handler
def zesRasClearStateExp(hRas: int, category: int) -> None:
    counters = part_of(hRas, ErrorCounters)
    _check_category(counters, category)
    counters.clear()


@handler
def zesRasGetSupportedCategoriesExp(hRas: int, pCount: int, pCategories: int) -> None:
    categories = list(part_of(hRas, ErrorCounters).counts())
    for index in range(take_count(pCount, pCategories, len(categories))):
        at = pCategories + _CATEGORY_BYTES * index
        ctypes.c_uint32.from_address(at).value = categories[index]


@handler
def zesRasGetStateExp2(hRas: int, count: int, pCategories: int, pState: int) -> None:
    counters = part_of(hRas, ErrorCounters)
    _check_size(count)
    wanted = [read_u32(pCategories + _CATEGORY_BYTES * index) for index in range(count)]
    for category in wanted:
        _check_category(counters, category)
    counts = counters.counts()
    size = ctypes.sizeof(zes.zes_ras_state_exp2_t)
    for index, category in enumerate(wanted):
        state = zes.zes_ras_state_exp2_t.from_address(pState + size * index)
        state.errorCounter = counts[category]


def _check_size(count: int) -> None:
    """An array of more than this is a number that went wrong, and memory that is not there."""
    if count > _MOST_CATEGORIES:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_SIZE, f"there are not {count} categories of errors"
        )


def _check_category(counters: ErrorCounters, category: int) -> None:
    if category not in _CATEGORIES:
        raise Failure(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT, f"{category} is no category of errors")
    if category not in counters.counts():
        raise Unsupported("errors of this category are not counted: ask which are")


# --- Events ---------------------------------------------------------------------------------------


@handler
def zesRasGetConfig(hRas: int, pConfig: int) -> None:
    conditions = thresholds.of_errors(part_of(hRas, ErrorCounters))
    config = zes.zes_ras_config_t.from_address(pConfig)
    config.totalThreshold = conditions.total
    for category in range(_OLD_CATEGORIES):
        limit = conditions.by_category.get(category, 0)
        config.detailedThresholds.category[category] = limit


@handler
def zesRasSetConfig(hRas: int, pConfig: int) -> None:
    """A threshold of an old category holds also for those counters that are told under it."""
    counters = part_of(hRas, ErrorCounters)
    config = zes.zes_ras_config_t.from_address(pConfig)
    conditions = thresholds.of_errors(counters)
    conditions.total = config.totalThreshold
    conditions.by_category = {
        category: config.detailedThresholds.category[_old_category(category)]
        for category in (*range(_OLD_CATEGORIES), *counters.counts())
    }


@handler
def zesRasGetConfigExp(hRas: int, count: int, pConfig: int) -> None:
    counters = part_of(hRas, ErrorCounters)
    conditions = thresholds.of_errors(counters)
    _check_size(count)
    configs = (zes.zes_ras_config_exp_t * count).from_address(pConfig)
    for config in configs:
        _check_category(counters, config.category)
    for config in configs:
        config.threshold = conditions.by_category.get(config.category, 0)


@handler
def zesRasSetConfigExp(hRas: int, count: int, pConfig: int) -> None:
    counters = part_of(hRas, ErrorCounters)
    _check_size(count)
    configs = (zes.zes_ras_config_exp_t * count).from_address(pConfig)
    for config in configs:
        _check_category(counters, config.category)
    wanted = {int(config.category): config.threshold for config in configs}
    thresholds.of_errors(counters).by_category.update(wanted)
