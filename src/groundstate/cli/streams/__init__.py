"""The views of `groundstate stream`, one file each."""
