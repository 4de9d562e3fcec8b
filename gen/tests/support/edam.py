"""Has Edalize lint what an EDAM file describes, in a folder: edam.py FILE.eda.yml FOLDER."""

import os
import sys

import yaml
from edalize.flows.lint import Lint

file, folder = sys.argv[1:]
with open(file) as text:
    edam = yaml.safe_load(text)
for source in edam["files"]:
    source["name"] = os.path.relpath(os.path.join(os.path.dirname(file), source["name"]), folder)
edam["flow_options"] = {"tool": "verilator", "verilator_options": ["-Wall"]}
flow = Lint(edam=edam, work_root=folder)
flow.configure()
flow.build()
print(edam["name"], edam["toplevel"], *(f"{os.path.basename(f['name'])}:{f['file_type']}" for f in edam["files"]))
