"""The faults that there are, by the names of the plan: of `servers`, of the `bucket`, of `clients`, of `files`."""
