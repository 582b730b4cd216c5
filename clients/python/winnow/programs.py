"""The commands of a wheel that carries the programs: winnow, winnow-server, winnow-worker and the trainers."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Becomes the program of the name by which this was called."""
    name = os.path.basename(sys.argv[0])
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    os.execv(program, [program, *sys.argv[1:]])
