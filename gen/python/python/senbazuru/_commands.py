"""Commands of the command line whose results are data frames."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pandas


class CommandError(RuntimeError):
    """A command failed.

    Attributes:
        code: 1 a check failed, 2 arguments or parameters are wrong, 3 a tool is missing, 4 no answer
        output: what it printed
    """

    def __init__(self, told: str, code: int, output: str) -> None:
        super().__init__(told)
        self.code = code
        self.output = output


def command(*words: str | PathLike[str]) -> str:
    """Runs a command of the command line, and returns what it prints.

    >>> senbazuru.command("info", "orizuru_unit")

    Raises:
        CommandError: with the text of the command's error
    """
    line = [sys.executable, "-m", "senbazuru", *(fspath(word) for word in words)]
    done = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        told = done.stderr.strip() or done.stdout.strip()
        raise CommandError(told.removeprefix("error: "), done.returncode, done.stdout)
    return done.stdout


def _settings(parameters: Mapping[str, Any] | None) -> list[str]:
    """Options for parameters: a switch in Rust's spelling, all others as Python writes them."""
    words = []
    for name, value in (parameters or {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        words += ["--set", f"{name}={text}"]
    return words


def _options(**options: Any) -> list[str]:
    """Options of a command line: None is left out, True is a switch, a list is joined by commas."""
    words = []
    for name, value in options.items():
        word = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(word)
        elif isinstance(value, Iterable) and not isinstance(value, str):
            words += [word, ",".join(str(one) for one in value)]
        else:
            words += [word, fspath(value) if isinstance(value, PathLike) else str(value)]
    return words


def blocks() -> pandas.DataFrame:
    """All blocks: `block`, `family`, `summary`, `reference`."""
    return pandas.DataFrame(json.loads(command("list", "--json")))


def info(block: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Contract, parameters with their ranges, ports and timing of a block.

    Args:
        block: its name
        parameters: values by name, such as {"rows": 4}; all others have their defaults
    """
    return json.loads(command("info", block, *_settings(parameters), "--json"))


def generate(block: str, folder: str | PathLike[str], parameters: Mapping[str, Any] | None = None) -> list[Path]:
    """Writes the Verilog of a block, its file list and its manifest, and returns their paths.

    Args:
        block: its name
        folder: a new or empty folder, or one with an earlier result
        parameters: values by name
    """
    command("gen", block, *_settings(parameters), "--output", folder)
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


def compare(
    machines: Iterable[str | PathLike[str]] | str | PathLike[str],
    *,
    models: Iterable[str] | None = None,
    phase: Iterable[str] | str | None = None,
    context: Iterable[int] | None = None,
    batch: Iterable[int] | None = None,
    bandwidth: Iterable[float] | None = None,
    part: str | None = None,
    latency: int | None = None,
    store: str | PathLike[str] | None = None,
) -> pandas.DataFrame:
    """Accelerators on language models: cycles by context, batch and bandwidth, and what each waits for.

    Args:
        machines: accelerators as "tender" or "tender:array.rows=64", or TOML files with machines or a comparison
        models: shapes by name ("Llama-2-7B"), config.json files, GGUF files
        phase: "token", "prompt" or both
        context: tokens that the last new token sees, including itself
        batch: sequences side by side
        bandwidth: bytes a cycle of memory
        part: "layer" or "model"
        latency: cycles until memory answers
        store: folder of stored counts, which are not computed again; none are kept without it

    Returns:
        A row for each machine, model, phase, batch, context and bandwidth.
    """
    if isinstance(machines, (str, PathLike)):
        machines = [machines]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "comparison.csv"
        options = _options(
            model=models, phase=phase, context=context, batch=batch, bandwidth=bandwidth, part=part, latency=latency
        )
        kept = Path(store) if store is not None else Path(folder) / "store"
        command("compare", *machines, *options, "--store", kept, "--csv", path)
        return pandas.read_csv(path)


def sweep(
    file: str | PathLike[str],
    *,
    output: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    small: bool = False,
    jobs: int | None = None,
) -> pandas.DataFrame:
    """Runs every combination of parameters that a file describes, through the stages that it names.

    Args:
        file: the description, in TOML
        output: folder for results, report and table; a temporary one without it
        store: folder of stored results, which are not computed again; none are kept without it
        small: take the few values of the section [small]
        jobs: points that run at a time

    Returns:
        A row for each point: its parameters and its figures.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(output) if output is not None else Path(folder) / "results"
        kept = Path(store) if store is not None else Path(folder) / "store"
        command("sweep", file, *_options(output=place, store=kept, small=small, jobs=jobs))
        return pandas.read_csv(place / "results.csv")


def evaluate(
    schemes: Iterable[str] | str,
    text: str | PathLike[str],
    *,
    model: str | PathLike[str],
    learn: str | PathLike[str] | None = None,
    tokens: int | None = None,
    context: int | None = None,
    prompt: int | None = None,
    store: str | PathLike[str] | None = None,
    threads: int | None = None,
) -> pandas.DataFrame:
    """What schemes of numbers cost a language model, as perplexity of a text.

    Args:
        schemes: names with options, such as "tender:bits=4,groups=16"; `senbazuru.command("eval", "--schemes")` lists them
        text: file with the text
        model: GGUF file, or folder with config.json, safetensors and tokenizer.json
        learn: file with the text that schemes learn from
        tokens: the first tokens of the text; all without it
        context: tokens of a window
        prompt: tokens of a window that come at once
        store: file that keeps what was computed, so that the same call goes on after a stop
        threads: windows that are read in parallel

    Returns:
        A row for each scheme.
    """
    words: list[str | PathLike[str]] = []
    for scheme in [schemes] if isinstance(schemes, str) else schemes:
        words += ["--scheme", scheme]
    options = _options(
        model=model,
        text=text,
        learn=learn,
        tokens=tokens,
        context=context,
        prompt=prompt,
        store=store,
        threads=threads,
    )
    return pandas.json_normalize(json.loads(command("eval", *words, *options, "--json"))["schemes"])
