"""Fails unless cocotb ran tests and all of them passed: simulators end with 0 whatever cocotb found. {{ generated }}

    python3 check_results.py [results.xml]
"""

import sys
import xml.etree.ElementTree

file = sys.argv[1] if len(sys.argv) > 1 else "results.xml"
cases = list(xml.etree.ElementTree.parse(file).iter("testcase"))
failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
ran = sum(case.find("skipped") is None for case in cases)
if failed or not ran:
    sys.exit(f"{file}: {'failed: ' + ', '.join(failed) if failed else 'no test ran'}")
