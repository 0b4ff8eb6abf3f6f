"""One module for each kind of output; `registry.outputs` says which files they write."""
