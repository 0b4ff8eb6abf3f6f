"""The Python half of the driver: one file for each noun of the programming guide."""
