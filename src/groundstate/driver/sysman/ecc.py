"""Whether the memory corrects its errors. Of a CPU's, that is the firmware's decision, not ours."""

from __future__ import annotations

import ctypes

from groundstate import ze, zes
from groundstate.driver.api import Failure, chained, handler, write_bool
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.parts import Watched

_STATES = {
    None: zes.ZES_DEVICE_ECC_STATE_UNAVAILABLE,
    True: zes.ZES_DEVICE_ECC_STATE_ENABLED,
    False: zes.ZES_DEVICE_ECC_STATE_DISABLED,
}


@handler
def zesDeviceEccAvailable(hDevice: int, pAvailable: int) -> None:
    write_bool(pAvailable, kinds.watched(hDevice).ecc_is_enabled() is not None)


@handler
def zesDeviceEccConfigurable(hDevice: int, pConfigurable: int) -> None:
    write_bool(pConfigurable, kinds.watched(hDevice).ecc_can_be_set())


@handler
def zesDeviceGetEccState(hDevice: int, pState: int) -> None:
    _write_state(zes.zes_device_ecc_properties_t.from_address(pState), kinds.watched(hDevice))


def _write_state(properties: ctypes.Structure, device: Watched) -> None:
    now, then = device.ecc_is_enabled(), device.ecc_after_reset()
    properties.currentState = _STATES[now]
    properties.pendingState = _STATES[then]
    changes = now is not then
    properties.pendingAction = (
        zes.ZES_DEVICE_ACTION_WARM_CARD_RESET if changes else zes.ZES_DEVICE_ACTION_NONE
    )
    default = chained(properties, zes.zes_device_ecc_default_properties_ext_t)
    if default is not None:
        default.defaultState = _STATES[device.ecc_by_default()]


@handler
def zesDeviceSetEccState(hDevice: int, newState: int, pState: int) -> None:
    device = kinds.watched(hDevice)
    wanted = zes.zes_device_ecc_desc_t.from_address(newState).state
    if wanted not in (zes.ZES_DEVICE_ECC_STATE_ENABLED, zes.ZES_DEVICE_ECC_STATE_DISABLED):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ENUMERATION,
            "newState->state is neither ZES_DEVICE_ECC_STATE_ENABLED nor "
            "ZES_DEVICE_ECC_STATE_DISABLED",
        )
    device.set_ecc(wanted == zes.ZES_DEVICE_ECC_STATE_ENABLED)
    _write_state(zes.zes_device_ecc_properties_t.from_address(pState), device)
