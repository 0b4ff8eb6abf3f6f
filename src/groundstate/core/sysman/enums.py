"""The enumerations of system management: those of the API under shorter names."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class EngineGroup(IntEnum):
    """Which workers of a device are counted together."""

    ALL = 0
    COMPUTE_ALL = 1
    MEDIA_ALL = 2
    COPY_ALL = 3
    COMPUTE_SINGLE = 4
    RENDER_SINGLE = 5
    MEDIA_DECODE_SINGLE = 6
    MEDIA_ENCODE_SINGLE = 7
    COPY_SINGLE = 8
    MEDIA_ENHANCEMENT_SINGLE = 9
    THREE_D_SINGLE = 10
    THREE_D_RENDER_COMPUTE_ALL = 11
    RENDER_ALL = 12
    THREE_D_ALL = 13
    MEDIA_CODEC_SINGLE = 14


class EngineFlag(IntFlag):
    """The kinds of work that a process gives to a device, or that a scheduler shares out."""

    OTHER = 1
    COMPUTE = 2
    THREE_D = 4
    MEDIA = 8
    DMA = 16
    RENDER = 32


class MemoryModuleType(IntEnum):
    """What a memory is made of."""

    HBM = 0
    DDR = 1
    DDR3 = 2
    DDR4 = 3
    DDR5 = 4
    LPDDR = 5
    LPDDR3 = 6
    LPDDR4 = 7
    LPDDR5 = 8
    SRAM = 9
    L1 = 10
    L3 = 11
    GRF = 12
    SLM = 13
    GDDR4 = 14
    GDDR5 = 15
    GDDR5X = 16
    GDDR6 = 17
    GDDR6X = 18
    GDDR7 = 19
    LPDDR5X = 20
    HBM2 = 21
    DDR2 = 22
    HBM2E = 23
    HBM3 = 24
    HBM3E = 25
    HBM4 = 26
    LPDDR6 = 27


class MemoryLocation(IntEnum):
    """Whether a memory is the machine's or the device's own."""

    SYSTEM = 0
    DEVICE = 1


class MemoryHealth(IntEnum):
    """How much a memory can be trusted."""

    UNKNOWN = 0
    OK = 1
    DEGRADED = 2
    CRITICAL = 3
    REPLACE = 4


class FrequencyType(IntEnum):
    """What a clock drives."""

    GPU = 0
    MEMORY = 1
    MEDIA = 2


class ThrottleReason(IntFlag):
    """What holds a clock down."""

    AVE_PWR_CAP = 1
    BURST_PWR_CAP = 2
    CURRENT_LIMIT = 4
    THERMAL_LIMIT = 8
    PSU_ALERT = 16
    SW_RANGE = 32
    HW_RANGE = 64
    VOLTAGE = 128
    THERMAL = 256
    POWER = 512


class SensorType(IntEnum):
    """What a thermometer measures."""

    GLOBAL = 0
    GPU = 1
    MEMORY = 2
    GLOBAL_MIN = 3
    GPU_MIN = 4
    MEMORY_MIN = 5
    GPU_BOARD = 6
    GPU_BOARD_MIN = 7
    VOLTAGE_REGULATOR = 8


class PowerDomainType(IntEnum):
    """Whose energy is counted."""

    UNKNOWN = 0
    CARD = 1
    PACKAGE = 2
    STACK = 3
    MEMORY = 4
    GPU = 5


class PowerLevel(IntEnum):
    """Over which time a power limit holds."""

    UNKNOWN = 0
    SUSTAINED = 1
    BURST = 2
    PEAK = 3
    INSTANTANEOUS = 4


class PowerSource(IntEnum):
    """With which source of power a limit holds."""

    ANY = 0
    MAINS = 1
    BATTERY = 2


class LimitUnit(IntEnum):
    """What a power limit counts: milliamperes or milliwatts."""

    UNKNOWN = 0
    CURRENT = 1
    POWER = 2


class FanMode(IntEnum):
    """Who decides how fast a fan turns."""

    DEFAULT = 0
    FIXED = 1
    TABLE = 2


class FanUnit(IntEnum):
    """What the speed of a fan counts."""

    RPM = 0
    PERCENT = 1


class VoltageStatus(IntEnum):
    """Whether a power supply keeps its voltage."""

    UNKNOWN = 0
    NORMAL = 1
    OVER = 2
    UNDER = 3


class ErrorType(IntEnum):
    """Whether errors were put right."""

    CORRECTABLE = 0
    UNCORRECTABLE = 1


class ErrorCategory(IntEnum):
    """Where errors happened."""

    RESET = 0
    PROGRAMMING_ERRORS = 1
    DRIVER_ERRORS = 2
    COMPUTE_ERRORS = 3
    NON_COMPUTE_ERRORS = 4
    CACHE_ERRORS = 5
    DISPLAY_ERRORS = 6
    MEMORY_ERRORS = 7
    SCALE_ERRORS = 8
    L3FABRIC_ERRORS = 9
    PCIE_ERRORS = 10
    FABRIC_ERRORS = 11
    SOC_INTERNAL_ERRORS = 12


class SchedulerMode(IntEnum):
    """How a device is shared among programs."""

    TIMEOUT = 0
    TIMESLICE = 1
    EXCLUSIVE = 2
    COMPUTE_UNIT_DEBUG = 3


class EccState(IntEnum):
    """Whether memory errors are corrected."""

    UNAVAILABLE = 0
    ENABLED = 1
    DISABLED = 2


class DeviceAction(IntEnum):
    """What has to be done before a setting takes effect."""

    NONE = 0
    WARM_CARD_RESET = 1
    COLD_CARD_RESET = 2
    COLD_SYSTEM_REBOOT = 3


class PciLinkStatus(IntEnum):
    """How well a PCI link works."""

    UNKNOWN = 0
    GOOD = 1
    QUALITY_ISSUES = 2
    STABILITY_ISSUES = 3


class PciQualityIssue(IntFlag):
    """What makes a PCI link slow."""

    REPLAYS = 1
    SPEED = 2


class PciStabilityIssue(IntFlag):
    """What makes a PCI link fail."""

    RETRAINING = 1


class PciBarType(IntEnum):
    """What is behind a window into a device."""

    MMIO = 0
    ROM = 1
    MEM = 2


class ResetReason(IntFlag):
    """Why a device has to be reset."""

    WEDGED = 1
    REPAIR = 2


class RepairStatus(IntEnum):
    """Whether a device was repaired."""

    UNSUPPORTED = 0
    NOT_PERFORMED = 1
    PERFORMED = 2


class SysmanEvent(IntFlag):
    """What a program can be told about a device."""

    DEVICE_DETACH = 1
    DEVICE_ATTACH = 2
    DEVICE_SLEEP_STATE_ENTER = 4
    DEVICE_SLEEP_STATE_EXIT = 8
    FREQ_THROTTLED = 16
    ENERGY_THRESHOLD_CROSSED = 32
    TEMP_CRITICAL = 64
    TEMP_THRESHOLD1 = 128
    TEMP_THRESHOLD2 = 256
    MEM_HEALTH = 512
    FABRIC_PORT_HEALTH = 1024
    PCI_LINK_HEALTH = 2048
    RAS_CORRECTABLE_ERRORS = 4096
    RAS_UNCORRECTABLE_ERRORS = 8192
    DEVICE_RESET_REQUIRED = 16384
    SURVIVABILITY_MODE_DETECTED = 32768


class StandbyMode(IntEnum):
    """Whether a part of a device may go to sleep."""

    DEFAULT = 0
    NEVER = 1


class DiagnosticResult(IntEnum):
    """What a test suite found."""

    NO_ERRORS = 0
    ABORT = 1
    FAIL_CANT_REPAIR = 2
    REBOOT_FOR_REPAIR = 3


class FabricPortStatus(IntEnum):
    """How well a port of the fabric works."""

    UNKNOWN = 0
    HEALTHY = 1
    DEGRADED = 2
    FAILED = 3
    DISABLED = 4


class FabricQualityIssue(IntFlag):
    """What makes a port of the fabric slow."""

    LINK_ERRORS = 1
    SPEED = 2


class FabricFailure(IntFlag):
    """Why a port of the fabric does not work."""

    FAILED = 1
    TRAINING_TIMEOUT = 2
    FLAPPING = 4


RAW_NAMES: dict[type[IntEnum] | type[IntFlag], str] = {
    EngineGroup: "zes_engine_group_t",
    EngineFlag: "zes_engine_type_flag_t",
    MemoryModuleType: "zes_mem_type_t",
    MemoryLocation: "zes_mem_loc_t",
    MemoryHealth: "zes_mem_health_t",
    FrequencyType: "zes_freq_domain_t",
    ThrottleReason: "zes_freq_throttle_reason_flag_t",
    SensorType: "zes_temp_sensors_t",
    PowerDomainType: "zes_power_domain_t",
    PowerLevel: "zes_power_level_t",
    PowerSource: "zes_power_source_t",
    LimitUnit: "zes_limit_unit_t",
    FanMode: "zes_fan_speed_mode_t",
    FanUnit: "zes_fan_speed_units_t",
    VoltageStatus: "zes_psu_voltage_status_t",
    ErrorType: "zes_ras_error_type_t",
    ErrorCategory: "zes_ras_error_category_exp_t",
    SchedulerMode: "zes_sched_mode_t",
    EccState: "zes_device_ecc_state_t",
    DeviceAction: "zes_device_action_t",
    PciLinkStatus: "zes_pci_link_status_t",
    PciQualityIssue: "zes_pci_link_qual_issue_flag_t",
    PciStabilityIssue: "zes_pci_link_stab_issue_flag_t",
    PciBarType: "zes_pci_bar_type_t",
    ResetReason: "zes_reset_reason_flag_t",
    RepairStatus: "zes_repair_status_t",
    SysmanEvent: "zes_event_type_flag_t",
    StandbyMode: "zes_standby_promo_mode_t",
    DiagnosticResult: "zes_diag_result_t",
    FabricPortStatus: "zes_fabric_port_status_t",
    FabricQualityIssue: "zes_fabric_port_qual_issue_flag_t",
    FabricFailure: "zes_fabric_port_failure_flag_t",
}
"""The enumeration of the API behind each of these; a test compares their members."""
