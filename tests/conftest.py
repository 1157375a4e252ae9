"""Settings for the whole test suite.

Property tests are deterministic by default: the same examples on every machine, no database, no deadline, so a slow
machine cannot fail them. `pytest --hypothesis-profile=explore` looks for new examples instead.
"""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=2000)
settings.load_profile("fixed")
