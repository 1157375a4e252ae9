"""What the API server tells: lists and watches of every kind that plugins read, and the newest version of each object.

`cluster_watch` keeps them all; `belief` and `fresh_list` are for whoever checks that nothing was missed.
"""
