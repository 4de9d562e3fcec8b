"""Which tensors are stored: one table, from which files, index and README follow."""

from dataclasses import dataclass

import numpy as np

# Tokens of the text that go through the model, and how many of them a layer's activations keep.
TEXT_TOKENS = 384
KEPT_TOKENS = 64
# Output columns of a weight slice: one head, or one tile of a 64 x 64 array.
COLUMNS = 64

# Layer -> key head whose group is traced over the whole text. See the README for why these.
LAYERS = {2: 0, 14: 2, 28: 0}
# The layer that also has the norm input and the key, value and output projections.
FULL_LAYER = 14


@dataclass(frozen=True)
class Tensor:
    """One stored array. `layer` is None for what belongs to no layer."""

    name: str
    layer: int | None
    axes: str
    description: str
    value: np.ndarray

    @property
    def file(self):
        """File name within the data folder."""
        return f"{self.name}.npy"


def half(name, value):
    """`value` rounded to float16; refuses what float16 cannot hold."""
    largest = np.finfo(np.float16).max
    if not np.abs(value).max() <= largest:
        raise ValueError(f"{name}: {np.abs(value).max()} is beyond float16's {largest}")
    return np.ascontiguousarray(value, dtype=np.float16)


def select(model, ids, kept):
    """The stored tensors, from the model and what `Model.forward` kept of `LAYERS`."""
    out = [
        Tensor(
            "tokens", None, "token", "token ids of the text", np.asarray(ids, dtype=np.int32)
        )
    ]
    for layer, kv_head in LAYERS.items():
        out += activations(layer, kept)
        out += trace(layer, kv_head, model.config.heads // model.config.kv_heads, kept)
        out += weights(layer, kv_head, model)
    return out


def activations(layer, kept):
    """Activations of the first `KEPT_TOKENS` tokens."""

    def rows(name, axes, description):
        value = kept[layer, name][..., :KEPT_TOKENS, :]
        return Tensor(f"l{layer:02}_{name}", layer, axes, description, half(name, value))

    flat = [
        ("attn_in", "token, channel", "attention input, after its RMSNorm"),
        ("q", "head, token, dim", "queries of all heads, after rotary embedding"),
        ("k", "kv_head, token, dim", "keys of all key heads, after rotary embedding"),
        ("v", "kv_head, token, dim", "values of all key heads"),
        ("attn_out", "token, channel", "softmax attention's result, heads side by side: input of the output projection"),
        ("ffn_in", "token, channel", "feed-forward input, after its RMSNorm"),
        ("down_in", "token, channel", "input of the down projection: silu(gate) * up"),
    ]
    if layer == FULL_LAYER:
        flat.insert(0, ("attn_residual", "token, channel", "residual stream: input of the attention's RMSNorm"))
    return [rows(*line) for line in flat]


def trace(layer, kv_head, group, kept):
    """Queries, keys and values of one key head's group over the whole text."""
    first = kv_head * group

    def whole(name, pick, axes, description):
        value = kept[layer, name][pick]
        return Tensor(f"l{layer:02}_{name}_trace", layer, axes, description, half(name, value))

    queries = f"queries of heads {first} to {first + group - 1}, which share key head {kv_head}, after rotary embedding, whole text"
    return [
        whole("q", slice(first, first + group), "head, token, dim", queries),
        whole("k", kv_head, "token, dim", f"keys of key head {kv_head}, after rotary embedding, whole text"),
        whole("v", kv_head, "token, dim", f"values of key head {kv_head}, whole text"),
    ]


def weights(layer, kv_head, model):
    """Slices of the dequantized weights, as [in, out], and the gains of both norms."""
    group = model.config.heads // model.config.kv_heads
    block = f"blk.{layer}"

    def columns(name, gguf_name, first, description):
        value = model.matrix(f"{block}.{gguf_name}")[:, first : first + COLUMNS]
        return Tensor(f"l{layer:02}_{name}", layer, "in, out", description, half(name, value))

    def gain(name, gguf_name, description):
        value = model.gain(f"{block}.{gguf_name}")
        return Tensor(f"l{layer:02}_{name}", layer, "channel", description, value)

    head, kv = kv_head * group * COLUMNS, kv_head * COLUMNS
    out = [
        columns("w_q", "attn_q", head, f"query projection of head {kv_head * group}"),
        columns("w_gate", "ffn_gate", 0, f"gate projection, output channels 0 to {COLUMNS - 1}"),
        columns("w_down", "ffn_down", 0, f"down projection, output channels 0 to {COLUMNS - 1}"),
        gain("attn_norm", "attn_norm", "gain of the attention's RMSNorm"),
        gain("ffn_norm", "ffn_norm", "gain of the feed-forward's RMSNorm"),
    ]
    if layer == FULL_LAYER:
        out += [
            columns("w_k", "attn_k", kv, f"key projection of key head {kv_head}"),
            columns("w_v", "attn_v", kv, f"value projection of key head {kv_head}"),
            columns("w_o", "attn_output", 0, f"output projection, output channels 0 to {COLUMNS - 1}"),
        ]
    return out
