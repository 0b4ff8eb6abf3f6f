"""Images and samplers in software."""
