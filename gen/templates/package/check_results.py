"""Fails unless cocotb ran tests and all of them passed: simulators end with 0 whatever cocotb found. {{ generated }}

    python3 check_results.py [results.xml]
"""

import sys
import xml.etree.ElementTree


def problem(file):
    """What is wrong with the results in a file, or None."""
    cases = list(xml.etree.ElementTree.parse(file).iter("testcase"))
    failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    if failed:
        return f"{file}: failed: {', '.join(failed)}"
    return None if any(case.find("skipped") is None for case in cases) else f"{file}: no test ran"


if __name__ == "__main__":
    sys.exit(problem(sys.argv[1] if len(sys.argv) > 1 else "results.xml"))
