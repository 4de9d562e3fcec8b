# {{ generated }}
# A configuration of OpenROAD-flow-scripts: make DESIGN_CONFIG=.../{{ top }}.orfs.mk PLATFORM=sky130hd
export DESIGN_NAME = {{ top }}
export DESIGN_NICKNAME = {{ top }}
export PLATFORM ?= sky130hd
SENBAZURU_FOLDER := $(dir $(lastword $(MAKEFILE_LIST)))
export VERILOG_FILES ={% for file in verilog %} $(SENBAZURU_FOLDER){{ file }}{% endfor %}

export SDC_FILE = $(SENBAZURU_FOLDER){{ sdc }}
{% if boxes %}
# Memories that are macros: their files go into the folder `macros`, or name other files.
{% for ending, variable in [["lef", "ADDITIONAL_LEFS"], ["lib", "ADDITIONAL_LIBS"], ["gds", "ADDITIONAL_GDS"]] %}
export {{ variable }} ?={% for name in boxes %} $(SENBAZURU_FOLDER)macros/{{ name }}.{{ ending }}{% endfor %}

{% endfor %}
{% endif %}
