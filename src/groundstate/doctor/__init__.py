"""What `groundstate doctor` finds out about an installation and the machine that it is on.

Every part of it goes on when something is broken: that is when it is needed.
"""
