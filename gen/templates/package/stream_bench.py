"""Drives the ready/valid streams of a block under cocotb, and holds the block to their rules. {{ generated }}

A beat moves at a rising edge before which `valid` and `ready` are both high. Once `valid` is high, it stays high, and what
the beat carries stays as it is, until the beat has moved. Inputs change after the rising edge; all is read at the falling
edge, where it has settled. An X is seen where the simulator has one: in Icarus Verilog, not in Verilator.
"""

import atexit
import os
import pathlib
import random
from dataclasses import dataclass, field
from typing import Optional

import cocotb
from cocotb import handle
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from check_results import problem

# Stands for the module of everything in a foreign module. No module has this name.
FOREIGN = "foreign module"
RESULTS = pathlib.Path(os.environ.get("COCOTB_RESULTS_FILE", "results.xml"))
# Results of an earlier run do not count.
RESULTS.unlink(missing_ok=True)


@atexit.register
def end_with_the_verdict():
    """Simulators end with 0 whatever cocotb found, and FuseSoC looks at nothing else."""
    text = problem(RESULTS) if RESULTS.exists() else f"there is no {RESULTS}"
    if text:
        print(text, flush=True)
        os._exit(1)


if not (1, 9) <= tuple(int(number) for number in cocotb.__version__.split(".")[:2]) < (3,):
    raise ImportError(f'this is cocotb {cocotb.__version__}; 1.9 or 2 is wanted: pip install "cocotb>=1.9,<3"')


@dataclass(frozen=True)
class Stream:
    """A stream of the block, or several side by side, whose ports have a place for each: `lanes` of them."""

    name: str
    valid: str
    ready: Optional[str]  # without it, every valid beat moves
    into: bool  # the block takes its beats
    data: tuple = ()  # ports of what a beat carries, one value a lane
    shared: tuple = ()  # the same for all lanes
    lanes: Optional[int] = None
    driven: bool = True  # beats into the block are offered
    below: dict = field(default_factory=dict)  # exclusive upper limits of values of a port, where its bits allow more

    def labels(self):
        """The names of its channels: `input`, or `input[0]`, `input[1]`, ..."""
        return [self.name] if self.lanes is None else [f"{self.name}[{k}]" for k in range(self.lanes)]


class Bench:
    """A block, its clock, and what drives it.

    `source["input"]` is an iterator of the beats to offer, each a dict from port to value; random ones unless replaced.
    `moved["output"]` are the beats that have moved, in order. In a share `stall` of the cycles a stream pauses.
    `inputs` are those of no stream, and their values; None is a new random value in each cycle. Outputs of no stream: those
    `known` are never X, and of `others` the log tells which are at the end.
    """

    def __init__(self, dut, streams, inputs, known, others, clock, reset, period_ns, seed=1, stall=0.5):
        self.dut, self.streams, self.inputs, self.known, self.others = dut, streams, dict(inputs), known, others
        self.clock, self.reset_name, self.period = clock, reset, max(2, 2 * round(period_ns * 500))
        # What is driven does not depend on how much the block holds.
        self.rng, self.powered, self.stall, self.cycles = random.Random(seed), random.Random(seed), stall, 0
        self.source, self.moved, self.offered, self.held = {}, {}, {}, {}
        for stream in streams:
            for label in stream.labels():
                self.moved[label] = []
                if stream.into and stream.driven:
                    self.source[label] = self.random_beats(stream)

    def width(self, stream, port):
        """Bits that one beat has in a port."""
        return len(getattr(self.dut, port)) // (1 if port in stream.shared else stream.lanes or 1)

    def random_beats(self, stream):
        """Random beats, without end."""
        while True:
            ports = stream.data + stream.shared
            yield {port: self.rng.randrange(stream.below.get(port, 1 << self.width(stream, port))) for port in ports}

    def power_up(self, memories, registers, foreign=(), scope=None, module=None):
        """State without a reset holds anything when power comes, but no X: random bits.

        `memories` and `registers` have the names in each module. Of modules that are `foreign`, and of all in them, the
        registers are not known: each that is X has random bits.
        """
        if not cocotb.SIM_NAME.startswith("Icarus"):
            return  # no X
        scope = self.dut if scope is None else scope
        # cocotb 1.9 does not know the module of the top, which has its name.
        module = module or scope._def_name or scope._name
        module = FOREIGN if module in foreign else module
        for part in scope:
            if isinstance(part, handle.HierarchyObject):
                # A scope of a module has no module of its own, or its own name.
                inner = module if part._def_name in (None, "", part._name) else part._def_name
                self.power_up(memories, registers, foreign, part, FOREIGN if module == FOREIGN else inner)
            elif isinstance(part, handle.HierarchyArrayObject):
                # Scopes of the same module.
                for one in part:
                    self.power_up(memories, registers, foreign, one, module)
            elif part._name in registers.get(module, ()) + memories.get(module, ()):
                self.fill(part)
            elif module == FOREIGN:
                # cocotb 2 does not tell registers from wires. A wire takes the value of its driver as soon as that has one.
                self.fill(part, ("GPI_REGISTER", "GPI_PACKED", "GPI_LOGIC"))

    def fill(self, part, only=None):
        """Random bits in place of an X: in a register, or in all words of an array; of some types only, if they are given."""
        if part._type == "GPI_ARRAY":
            for word in part:
                self.fill(word, only)
        elif only is None or part._type in only:
            bits = str(part.value)
            if not set(bits) <= set("01"):
                part.value = self.powered.getrandbits(len(bits))

    async def reset(self, cycles=4):
        """Starts the clock, and resets the block; what was offered or held is forgotten."""
        self.offered.clear()
        self.held.clear()
        self.cycles = 0
        for name, value in self.inputs.items():
            getattr(self.dut, name).value = value or 0
        for stream in self.streams:
            for port in (stream.valid, *stream.data, *stream.shared) if stream.into else filter(None, (stream.ready,)):
                getattr(self.dut, port).value = 0
        if self.reset_name:
            getattr(self.dut, self.reset_name).value = 0
        # The first edge finds settled values: what is added up would keep an X.
        await Timer(self.period // 2, "ps")
        if self.clock:
            cocotb.start_soon(Clock(getattr(self.dut, self.clock), self.period, "ps").start())
        for _ in range(cycles):
            await self.edge()
        if self.reset_name:
            getattr(self.dut, self.reset_name).value = 1

    async def cycle(self):
        """One cycle: offers, waits until all has settled, checks, and goes on to the next edge."""
        for name in (name for name, value in self.inputs.items() if value is None):
            port = getattr(self.dut, name)
            port.value = self.rng.getrandbits(len(port))
        for stream in self.streams:
            self.offer(stream) if stream.into else self.take(stream)
        await (FallingEdge(getattr(self.dut, self.clock)) if self.clock else Timer(self.period // 2, "ps"))
        for stream in self.streams:
            self.check(stream)
        for port in self.known:
            self.must(set(self.bits(port)) <= set("01"), port, f"is {self.bits(port)}")
        self.cycles += 1
        await self.edge()

    async def edge(self):
        """The next rising edge, or as much later when the block has no clock."""
        await (RisingEdge(getattr(self.dut, self.clock)) if self.clock else Timer(self.period // 2, "ps"))

    def offer(self, stream):
        """Drives a stream into the block. What is not valid is random."""
        labels = stream.labels()
        for label in labels:
            if label in self.source and label not in self.offered and self.rng.random() >= self.stall:
                beat = next(self.source[label], None)
                if beat is not None:
                    self.offered[label] = beat
        getattr(self.dut, stream.valid).value = sum((label in self.offered) << k for k, label in enumerate(labels))
        for port in stream.data + stream.shared:
            width, value = self.width(stream, port), 0
            for k, label in enumerate(labels[:1] if port in stream.shared else labels):
                beat = self.offered.get(label) or {}
                value |= beat.get(port, self.rng.getrandbits(width)) << k * width
            getattr(self.dut, port).value = value

    def take(self, stream):
        """Drives `ready` of a stream out of the block."""
        if stream.ready is None:
            return
        ready = (self.rng.random() >= self.stall for _ in stream.labels())
        getattr(self.dut, stream.ready).value = sum(bit << k for k, bit in enumerate(ready))

    def check(self, stream):
        """Holds the block to the rules, and notes which beats move at the coming edge."""
        for k, label in enumerate(stream.labels()):
            valid = self.bits(stream.valid, stream, k)
            ready = "1" if stream.ready is None else self.bits(stream.ready, stream, k)
            self.must(valid in "01", label, f"{stream.valid} is {valid}")
            self.must(ready in "01", label, f"{stream.ready} is {ready}")
            held = self.held.pop(label, None)
            self.must(held is None or valid == "1", label, f"{stream.valid} fell before the beat was taken")
            if valid == "0":
                continue
            beat = {port: self.bits(port, stream, k) for port in stream.data + stream.shared}
            for port, bits in beat.items():
                self.must(set(bits) <= set("01"), label, f"{port} is {bits} in a valid beat")
                self.must(held is None or bits == held[port], label, f"{port} changed before the beat was taken")
            if ready == "1":
                self.moved[label].append({port: int(bits, 2) for port, bits in beat.items()})
                self.offered.pop(label, None)
            else:
                self.held[label] = beat

    def bits(self, port, stream=None, lane=0):
        """What a port has now, or one lane of it, the highest bit first."""
        bits = str(getattr(self.dut, port).value)
        if stream is None or stream.lanes is None or port in stream.shared:
            return bits.lower()
        width = len(bits) // stream.lanes
        end = len(bits) - lane * width
        return bits[end - width : end].lower()

    def must(self, right, where, what):
        """Fails the test when something is not right."""
        assert right, f"cycle {self.cycles}: {where}: {what}"

    def finish(self):
        """Says how many beats each stream moved. A run in which none moved has tested nothing, and fails."""
        for label, beats in self.moved.items():
            self.dut._log.info("%s: %d beats", label, len(beats))
        for port in self.others:
            if not set(self.bits(port)) <= set("01"):
                self.dut._log.warning("%s is X, in all or in part", port)
        assert not self.source or any(self.moved.values()), "no beat moved, nothing was tested: are the INPUTS right?"
