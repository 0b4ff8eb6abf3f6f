"""The judge of the primitives: random problems, the reference library, benchdnn's thresholds."""
