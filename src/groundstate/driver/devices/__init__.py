"""One file for each kind of device that the driver can drive."""
