"""System management: what the `zes` functions answer."""
