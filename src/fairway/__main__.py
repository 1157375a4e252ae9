"""`python -m fairway`: the command line, for where the script `fairway` is not on the path.

In: the arguments of the process. Out: what the command prints, and its exit code.
Called by the interpreter; everything is in `fairway.cli.main`.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python puts the current folder first, where a module called as an installed one would run in its place.
    if Path(sys.path[0] or ".").resolve() == Path.cwd() and not Path(__file__).is_relative_to(Path.cwd()):
        del sys.path[0]
    from fairway.cli.main import main

    sys.exit(main())
