"""Golden models of LLM accelerators on NumPy arrays, and the tools of Senbazuru as data frames.

The models are bit-exact: hardware in Verilog is held to them. See `tender`, `kllm`, `titanus` and `kelle`.
"""

from ._commands import CommandError, blocks, command, compare, evaluate, generate, info, sweep
from ._native import kelle, kllm, tender, titanus

__all__ = [
    "CommandError",
    "blocks",
    "command",
    "compare",
    "evaluate",
    "generate",
    "info",
    "kelle",
    "kllm",
    "sweep",
    "tender",
    "titanus",
]
