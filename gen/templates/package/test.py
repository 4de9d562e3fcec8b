"""First test of {{ top }} under cocotb. {{ generated }}

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
        ready={{ s.ready|quoted }},
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
    ),
{% endfor %}
)
{% else %}
STREAMS = ()
{% endif %}

{% if inputs %}
# Inputs that belong to no stream, and what they are during this test.
INPUTS = {
{% for p in inputs %}
    {{ p.name|quoted }}: 0,{{ "  # " if p.meaning else "" }}{{ p.meaning }}
{% endfor %}
}
{% else %}
INPUTS = {}
{% endif %}

{% if known %}
# Outputs that belong to no stream, and are never X.
KNOWN = (
{% for p in known %}
    {{ p|quoted }},
{% endfor %}
)
{% else %}
KNOWN = ()
{% endif %}


def bench(dut, stall):
    """The block with random beats on all streams."""
    return Bench(dut, STREAMS, INPUTS, KNOWN, CLOCK, RESET, PERIOD_NS, SEED, stall)


async def keeps_the_rules(dut, stall):
    b = bench(dut, stall)
    await b.reset()
    for _ in range(CYCLES):
        await b.cycle()
    b.finish()


@cocotb.test()
async def without_stalls(dut):
    await keeps_the_rules(dut, 0.0)


@cocotb.test()
async def with_some_stalls(dut):
    await keeps_the_rules(dut, 0.4)


@cocotb.test()
async def with_many_stalls(dut):
    await keeps_the_rules(dut, 0.9)
