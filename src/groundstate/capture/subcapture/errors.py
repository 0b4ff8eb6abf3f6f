"""What can go wrong when a stream is cut."""


class CutError(ValueError):
    """A stream cannot be cut as asked; the sentence says what to ask instead."""
