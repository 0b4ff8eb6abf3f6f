"""The facts of the Level Zero API (specification 1.17.24) and the generators that read them.

`python -m registry` writes every generated file; `python -m registry --check` says what is stale.
"""
