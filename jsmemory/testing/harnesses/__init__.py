"""Harnesses for the stores that are shipped: for layers over them, and for comparisons with another store."""
