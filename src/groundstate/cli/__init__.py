"""The command line: one file for each command, and `main` that puts them together."""
