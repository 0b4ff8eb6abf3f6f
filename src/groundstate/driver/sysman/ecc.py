"""Whether the memory corrects its errors. That is the firmware's decision, not ours."""

from __future__ import annotations

from groundstate import ze, zes
from groundstate.driver.api import Failure, handler, write_bool
from groundstate.driver.sysman import kinds
from groundstate.driver.sysman.structs import chained

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
    kinds.watched(hDevice)
    write_bool(pConfigurable, False)


@handler
def zesDeviceGetEccState(hDevice: int, pState: int) -> None:
    properties = zes.zes_device_ecc_properties_t.from_address(pState)
    state = _STATES[kinds.watched(hDevice).ecc_is_enabled()]
    properties.currentState = state
    properties.pendingState = state
    properties.pendingAction = zes.ZES_DEVICE_ACTION_NONE
    default = chained(properties, zes.zes_device_ecc_default_properties_ext_t)
    if default is not None:
        default.defaultState = zes.ZES_DEVICE_ECC_STATE_UNAVAILABLE


@handler
def zesDeviceSetEccState(hDevice: int, newState: int, pState: int) -> None:
    kinds.watched(hDevice)
    wanted = zes.zes_device_ecc_desc_t.from_address(newState).state
    if wanted not in (zes.ZES_DEVICE_ECC_STATE_ENABLED, zes.ZES_DEVICE_ECC_STATE_DISABLED):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ENUMERATION,
            "newState->state is neither ZES_DEVICE_ECC_STATE_ENABLED nor _DISABLED",
        )
    raise NotImplementedError("only the firmware's setup can change the correction of errors")
