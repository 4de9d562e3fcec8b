"""Prints the modules of a manifest for levels.js: of each module its block, its place count and its children."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    manifest = json.load(file)
modules = {
    m["name"]: {"block": m["block"], "count": m["instances"], "children": m["children"]}
    | ({"empty": True} if m.get("black_box") else {})
    for m in manifest["modules"]
}
levels = {"top": manifest["top"], "modules": modules}
# In a script element: no end of it may stand in a name.
print(json.dumps(levels, separators=(",", ":")).replace("<", "\\u003c"))
