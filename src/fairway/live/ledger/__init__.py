"""The ledger: every line of the books in a table of a PostgreSQL, for those who keep them for years.

`ledger` is what it is to those who write to it, `address` where it is and how one gets in; `tables` what is there, and
makes it; `database` is one connection, with which lines are entered, added up and read; `ledger_thread` does that
beside the scheduler's loop. `live.batch` enters lines as step (3) of settling, `fairway usage --ledger` reads them.
Nothing else in Fairway speaks to a database server.
"""
