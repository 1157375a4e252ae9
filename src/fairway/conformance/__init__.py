"""Is it exact? Decisions recorded from kube-scheduler, made again by the engine, and compared in every field.

`corpus` reads cases, `corpus_run` decides them, `difference` compares. Called by the command `conformance` and the
tests.
"""
