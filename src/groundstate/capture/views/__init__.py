"""What recordings have to say to people: facts, statistics, pictures and comparisons."""
