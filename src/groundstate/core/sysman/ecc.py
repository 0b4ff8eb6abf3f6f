"""Error correction of a device's memory."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from groundstate import zes
from groundstate.core.sysman.enums import DeviceAction, EccState
from groundstate.core.sysman.part import record, supported
from groundstate.core.sysman.records import Record

if TYPE_CHECKING:
    from groundstate.core.sysman.device import SysmanDevice


@dataclass(frozen=True, slots=True)
class EccStatus(Record):
    """Whether errors are corrected, and whether they are going to be."""

    STRUCT = "zes_device_ecc_properties_t"

    current: Annotated[EccState, "currentState"]
    pending: Annotated[EccState, "pendingState"]
    action: Annotated[DeviceAction, "pendingAction"]
    """What has to be done before the pending state is the current one."""


class Ecc:
    """Error correction of a device's memory."""

    def __init__(self, sysman: SysmanDevice) -> None:
        self.sysman = sysman

    def __repr__(self) -> str:
        return f"<Ecc of {self.sysman.name!r}>"

    def _is(self, function: str) -> bool:
        answer = ctypes.c_uint8()
        api, handle = self.sysman.api, self.sysman.handle
        return supported(api, function, handle, ctypes.byref(answer)) and bool(answer.value)

    @property
    def is_available(self) -> bool:
        """True if the memory has error correction, switched on or off."""
        return self._is("zesDeviceEccAvailable")

    @property
    def is_configurable(self) -> bool:
        """True if it can be switched."""
        return self._is("zesDeviceEccConfigurable")

    @property
    def status(self) -> EccStatus | None:
        """Whether it is switched on."""
        return record(EccStatus, self.sysman.api, "zesDeviceGetEccState", self.sysman.handle)

    def set_state(self, state: EccState) -> EccStatus:
        """Switches it on or off; the answer says what has to be done before that is so."""
        wanted, answer = zes.zes_device_ecc_desc_t(state=state), EccStatus.struct()()
        pointers = ctypes.byref(wanted), ctypes.byref(answer)
        self.sysman.api.call("zesDeviceSetEccState", self.sysman.handle, *pointers)
        self.sysman.settings.clear()
        return EccStatus.read(answer)
