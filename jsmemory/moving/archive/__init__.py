"""
One file with all entries of a store: a .tar.gz of the files that a file store would have.

`format` says what is in it, `packing` writes it, `unpacking` reads it and trusts nothing.
"""
