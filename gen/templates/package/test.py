r"""First test of {{ top }} under cocotb. {{ generated }}

{{ summary }}

Resets the block, offers random beats to its streams with random pauses on both sides, and checks the rules of ready and
valid (stream_bench.py). It does not know what the block computes. Tests of your own go into another file, which may use this
one: `make MODULE=my_tests`.
"""

import os

import cocotb

from stream_bench import Bench, Stream

SEED = int(os.environ.get("SEED", "1"))
CYCLES = int(os.environ.get("CYCLES", "400"))
CLOCK = {{ clock|python }}
RESET = {{ reset|python }}
PERIOD_NS = {{ period }}

{% if streams %}
STREAMS = (
{% for s in streams %}
    # {{ s.meaning }}
{% if s.answers %}
    # Not offered, because they answer {{ s.answers }}: `source` of a bench takes answers.
{% endif %}
    Stream(
        {{ s.name|quoted }},
        valid={{ s.valid|quoted }},
        ready={{ s.ready|python }},
        into={{ s.into|python }},
{% if s.data %}
        data={{ s.data|tuple }},
{% endif %}
{% if s.shared %}
        shared={{ s.shared|tuple }},
{% endif %}
{% if s.lanes is not none %}
        lanes={{ s.lanes }},
{% endif %}
{% if s.answers %}
        driven=False,
{% endif %}
{% if s.below %}
        below={ {%- for b in s.below %}{{ b.port|quoted }}: {{ b.limit }}{{ "" if loop.last else ", " }}{% endfor -%} },
{% endif %}
    ),
{% endfor %}
)
{% else %}
STREAMS = ()
{% endif %}

{% if inputs %}
# Inputs that belong to no stream, and what they are during this test{{ "" if held else ": a random value in each cycle" }}.
INPUTS = {
{% for p in inputs %}
    {{ p.name|quoted }}: {{ 0 if held else "None" }},{{ "  # " if p.meaning else "" }}{{ p.meaning }}
{% endfor %}
}
{% else %}
INPUTS = {}
{% endif %}

{% if known %}
# Outputs that belong to no stream, and are never X.
KNOWN = {{ known|tuple }}
{% else %}
KNOWN = ()
{% endif %}
{% if others %}
# Outputs that may be X until the block has been told what they depend on: the log says which are.
OTHERS = {{ others|tuple }}
{% else %}
OTHERS = ()
{% endif %}
# Memories and other registers that no reset reaches, by the module that they are in.
{% for name, table in [("MEMORIES", memories), ("REGISTERS", registers)] %}
{% if table %}
{{ name }} = {
{% for m in table %}
    {{ m.module|quoted }}: {{ m.names|tuple }},
{% endfor %}
}
{% else %}
{{ name }} = {}
{% endif %}
{% endfor %}
# Modules whose registers are not known.
FOREIGN = {{ foreign|tuple }}
# Words of all memories. A block that clears them before it takes anything may need a cycle for each.
WORDS = {{ words }}


async def keeps_the_rules(dut, stall):
    bench = Bench(dut, STREAMS, INPUTS, KNOWN, OTHERS, CLOCK, RESET, PERIOD_NS, SEED, stall)
    bench.power_up(MEMORIES, REGISTERS, FOREIGN)
    await bench.reset()
    for _ in range(CYCLES):
        await bench.cycle()
    for _ in range(WORDS):
        if any(bench.moved.values()):
            break
        await bench.cycle()
    bench.finish()


@cocotb.test()
async def without_stalls(dut):
    await keeps_the_rules(dut, 0.0)


@cocotb.test()
async def with_some_stalls(dut):
    await keeps_the_rules(dut, 0.4)


@cocotb.test()
async def with_many_stalls(dut):
    await keeps_the_rules(dut, 0.9)
