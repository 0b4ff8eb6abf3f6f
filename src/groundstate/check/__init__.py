"""How `groundstate check` and the pytest plugin tell what checked mode found."""
