/* Sub-group functions of the Intel extensions, which clang does not declare by itself. */
