"""Numbers: operations, conversions, composites, functions of OpenCL."""
