"""Settings for the whole test suite.

Property tests are deterministic by default: the same examples on every machine, no database, no deadline, so a slow
machine cannot fail them. `pytest --hypothesis-profile=explore` looks for new examples instead, and `few` is for those
who have seen them pass on another Python.
"""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=2000)
settings.register_profile("few", derandomize=True, database=None, deadline=None, max_examples=15)
settings.load_profile("fixed")
