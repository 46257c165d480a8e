"""
The demo: a fleet of processes that keeps notes on a folder's files, and is treated badly.

`gathering` chooses the files, `notes` makes a note of one, `index` keeps the one entry that
all share, `keeping` does the work of one run, `wording` is what parent and workers say to each
other, `worker` is the process that holds the run, `fates` decides whom something happens to,
`fleet` starts, kills and replaces, `verifying` counts at the end what was lost, and `show` is
all of it.
"""
