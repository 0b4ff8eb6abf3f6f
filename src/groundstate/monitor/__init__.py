"""What `groundstate top` and `groundstate metrics` show: readings of the devices, and their views.

A reading (`readings.py`) is made from the object layer's snapshots (`source.py`); text, screen and
exporter only look at readings. The screen needs `textual` and the exporter `prometheus-client`,
which `pip install 'groundstate[monitor]'` installs; everything else works without them.
"""
