"""Jobs: who comes first, and how much each account has used.

`fair_tree` ranks users by what they used against what they are entitled to, `usage` says how much that is by now,
`priority` puts jobs in order; `accounts` knows who pays, and keeps the books. Nothing here reads a clock, a file or a
cluster.
"""
