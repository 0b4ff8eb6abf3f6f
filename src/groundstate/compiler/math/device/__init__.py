"""What CPUs have in the C library, for devices that have none: functions of doubles.

`functions.library` takes `device.NAME` from here where the target has no C library. They stay
within the error bounds of OpenCL for doubles; most are for arguments that are rare.
"""
