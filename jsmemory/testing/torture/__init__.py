"""
Torture: the guarantees of the contract, measured while everything fails that can.

Worker processes use a store, a nemesis acts on its servers and links, every call is written
down, and a checker decides from the records and from what is there in the end. `records`,
`recording` and `calls` are what is written down, `checking` is the checker.
"""
