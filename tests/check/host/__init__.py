"""The checker `host`: labelled programs, right and wrong, and what is said of them."""
