"""Code in which one work-item is one thread of a GPU: plain branches, and PTX where LLVM has no
words for what is meant.
"""
