from collections.abc import Sequence
from os import PathLike

from . import kelle as kelle
from . import kllm as kllm
from . import tender as tender
from . import titanus as titanus

def main(arguments: Sequence[str], *, code: str | PathLike[str], program: Sequence[str]) -> int:
    """Runs a command of the command line in this process, and returns its exit code."""
