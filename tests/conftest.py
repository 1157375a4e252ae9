"""Settings for the whole test suite.

Property tests are deterministic by default: the same examples on every machine, no database, no deadline, so a slow
machine cannot fail them. `pytest --hypothesis-profile=explore` looks for new examples instead, and `few` is for those
who have seen them pass on another Python.

Commands that tests start can be interrupted, also where the tests themselves run in the background of a shell, which
makes them deaf to Ctrl-C, and all whom they start.
"""

import signal

from hypothesis import settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=2000)
settings.register_profile("few", derandomize=True, database=None, deadline=None, max_examples=15)
settings.load_profile("fixed")
