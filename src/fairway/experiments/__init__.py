"""Published experiments, run again: pods placed one by one in a given order, without time (openb).

`order_scenario` is what one asks for, `ordered_cluster` the run, `results` and `report` what came of it, `openb_check`
the comparison with what was published. Called by the commands `compare` and `conformance --openb`.
"""
