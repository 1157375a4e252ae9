"""Both programs that kubectl looks for, as an installed wheel has them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

__all__ = ["scripts"]

MODULES: Final = {
    "kubectl-fairway": "fairway.cli.main",
    "kubectl_complete-fairway": "fairway.cli.kubectl_completion",
}


def scripts(folder: Path) -> dict[str, str]:
    """An environment whose PATH has both."""
    for name, module in MODULES.items():
        file = folder / name
        file.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import main\nsys.exit(main())\n")
        file.chmod(0o755)
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
