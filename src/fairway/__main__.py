"""`python -m fairway`: the command line, for where the script `fairway` is not on the path.

In: the arguments of the process. Out: what the command prints, and its exit code.
Called by the interpreter; everything is in `fairway.cli.main`.
"""

import sys

from fairway.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
