"""The command line: `python -m senbazuru list`."""

import sys

from . import _native


def run() -> None:
    """Runs the command that the words of this process name."""
    sys.exit(_native.main(sys.argv[1:], code=_native.__file__, program=[sys.executable, "-m", "senbazuru"]))


if __name__ == "__main__":
    run()
