# Prints what a SystemRDL compiler understands of a file, as JSON.
import json
import sys

from systemrdl import RDLCompiler
from systemrdl.node import RegNode


def text(value):
    return None if value is None else getattr(value, "name", value)


compiler = RDLCompiler()
compiler.compile_file(sys.argv[1])
registers = []
for node in compiler.elaborate().top.descendants():
    if isinstance(node, RegNode):
        fields = [
            {
                "name": f.inst_name,
                "low": f.low,
                "width": f.width,
                "reset": f.get_property("reset"),
                "sw": text(f.get_property("sw")),
                "onwrite": text(f.get_property("onwrite")),
                "singlepulse": f.get_property("singlepulse"),
            }
            for f in node.fields()
        ]
        registers.append(
            {"name": node.inst_name, "offset": node.absolute_address, "bytes": node.size, "fields": fields}
        )
print(json.dumps(registers))
