"""A Llama decoder (Touvron et al. 2023, section 2.2) read from a GGUF file, in NumPy.

Arithmetic is float64 on weights rounded to float16. Float64, because what is stored is rounded to
float16 afterwards: sums that differ in the last bits of a float32 (another BLAS kernel, another CPU)
would flip some of those roundings, sums that differ in the last bits of a float64 do not. Weights in
float16, so that the slices that are stored are exactly the weights that the pass used.

GGUF keeps the rows of the query and key projections permuted, so that the two elements that rotary
embedding turns together are neighbours, 2i and 2i + 1 (RoFormer, Su et al. 2021, equation 34). That
order is kept: it changes no inner product of a query with a key.
"""

from dataclasses import dataclass

import gguf
import numpy as np

from tokenizer import Tokenizer


@dataclass(frozen=True)
class Config:
    """Shape and constants of the model, all from the file's metadata."""

    layers: int
    width: int
    ffn_width: int
    heads: int
    kv_heads: int
    head_dim: int
    rope_base: float
    norm_eps: float
    vocabulary: int


def rms_norm(x, gain, eps):
    """RMSNorm (Zhang and Sennrich 2019): x / sqrt(mean(x^2) + eps) * gain, over the last axis."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * gain


def rope(x, base, interleaved=True):
    """Rotary embedding of `x` [heads, tokens, dim]; token t is at position t.

    `interleaved=False` pairs element i with i + dim/2, which is wrong for this file's layout: it is
    here only so that a test can break the model.
    """
    _, tokens, dim = x.shape
    angle = np.arange(tokens)[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    cos, sin = np.cos(angle), np.sin(angle)
    out = np.empty_like(x)
    if interleaved:
        first, second = slice(0, dim, 2), slice(1, dim, 2)
    else:
        first, second = slice(0, dim // 2), slice(dim // 2, dim)
    a, b = x[..., first], x[..., second]
    out[..., first] = a * cos - b * sin
    out[..., second] = a * sin + b * cos
    return out


class Model:
    """The decoder and its tokenizer."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self._tensors = {t.name: t for t in reader.tensors}
        self._cache = {}

        def meta(key):
            field = reader.get_field(key)
            if field is None:
                raise ValueError(f"{path}: no metadata field {key}")
            return field.contents()

        if meta("general.architecture") != "llama":
            raise ValueError(f"{path}: architecture is not llama")
        if meta("tokenizer.ggml.pre") != "smollm":
            raise ValueError(f"{path}: pre-tokenizer is not smollm")
        self.config = Config(
            layers=meta("llama.block_count"),
            width=meta("llama.embedding_length"),
            ffn_width=meta("llama.feed_forward_length"),
            heads=meta("llama.attention.head_count"),
            kv_heads=meta("llama.attention.head_count_kv"),
            head_dim=meta("llama.rope.dimension_count"),
            rope_base=meta("llama.rope.freq_base"),
            norm_eps=meta("llama.attention.layer_norm_rms_epsilon"),
            vocabulary=meta("llama.vocab_size"),
        )
        self.tokenizer = Tokenizer(meta("tokenizer.ggml.tokens"), meta("tokenizer.ggml.merges"))

    def matrix(self, name):
        """A weight matrix as [in, out] float16, dequantized: `y = x @ matrix`."""
        if name not in self._cache:
            tensor = self._tensors[f"{name}.weight"]
            rows = gguf.dequantize(tensor.data, tensor.tensor_type)
            self._cache[name] = np.ascontiguousarray(rows.astype(np.float16).T)
        return self._cache[name]

    def gain(self, name):
        """A norm's gain vector, float32 as in the file."""
        return np.array(self._tensors[f"{name}.weight"].data, dtype=np.float32)

    def forward(self, ids, keep=(), interleaved=True):
        """Logits [tokens, vocabulary] of `ids`, and what went through the layers in `keep`.

        The second value maps (layer, name) to a float64 array. Names: `attn_residual` and `ffn_residual`
        (inputs of the norms), `attn_in`, `q`, `k` (rotated), `v` ([heads, tokens, head_dim]), `attn_out`
        (input of the output projection), `ffn_in`, `down_in` (silu(gate) * up).
        """
        c, kept = self.config, {}
        # The embedding is tied to the output projection.
        embedding = self.matrix("token_embd")
        x = embedding[:, ids].T.astype(np.float64)
        for layer in range(c.layers):
            seen = self._layer(layer, x, interleaved)
            x = seen.pop("out")
            if layer in keep:
                kept.update({(layer, name): value for name, value in seen.items()})
        x = rms_norm(x, self.gain("output_norm"), c.norm_eps)
        return x @ embedding.astype(np.float64), kept

    def generate(self, ids, count):
        """`count` greedy tokens after `ids`, stopping after the end token."""
        ids, start = list(ids), len(ids)
        end = self.tokenizer.special("<|im_end|>")
        while len(ids) < start + count and ids[-1] != end:
            ids.append(int(np.argmax(self.forward(ids)[0][-1])))
        return ids[start:]

    def _layer(self, layer, x, interleaved):
        c, block = self.config, f"blk.{layer}"

        def project(value, name):
            return value @ self.matrix(f"{block}.{name}").astype(np.float64)

        def heads(value):
            return value.reshape(len(value), -1, c.head_dim).transpose(1, 0, 2)

        seen = {"attn_residual": x}
        seen["attn_in"] = rms_norm(x, self.gain(f"{block}.attn_norm"), c.norm_eps)
        seen["q"] = rope(heads(project(seen["attn_in"], "attn_q")), c.rope_base, interleaved)
        seen["k"] = rope(heads(project(seen["attn_in"], "attn_k")), c.rope_base, interleaved)
        seen["v"] = heads(project(seen["attn_in"], "attn_v"))
        seen["attn_out"] = attend(seen["q"], seen["k"], seen["v"])
        x = x + project(seen["attn_out"], "attn_output")
        seen["ffn_residual"] = x
        seen["ffn_in"] = rms_norm(x, self.gain(f"{block}.ffn_norm"), c.norm_eps)
        gate = project(seen["ffn_in"], "ffn_gate")
        seen["down_in"] = gate / (1 + np.exp(-gate)) * project(seen["ffn_in"], "ffn_up")
        seen["out"] = x + project(seen["down_in"], "ffn_down")
        return seen


def probabilities(q, k):
    """Attention of one head, [query, key]: softmax of q . k / sqrt(dim) over the keys up to the query."""
    tokens, dim = q.shape
    score = q @ k.T / np.sqrt(dim)
    score[np.triu(np.ones((tokens, tokens), dtype=bool), 1)] = -np.inf
    e = np.exp(score - score.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attend(q, k, v):
    """Causal attention with shared key heads (Ainslie et al. 2023): query head h reads key head h // group.

    `q` is [heads, tokens, dim], `k` and `v` [kv_heads, tokens, dim]; the result is [tokens, heads * dim].
    """
    heads, tokens, dim = q.shape
    group = heads // len(k)
    out = np.empty((tokens, heads * dim))
    for h in range(heads):
        out[:, h * dim : (h + 1) * dim] = probabilities(q[h], k[h // group]) @ v[h // group]
    return out


def perplexity(logits, ids):
    """exp of the mean negative log likelihood of ids[1:] given what stands before each."""
    top = logits[:-1].max(axis=-1)
    log_sum = top + np.log(np.exp(logits[:-1] - top[:, None]).sum(axis=-1))
    chosen = logits[np.arange(len(ids) - 1), ids[1:]]
    return float(np.exp(np.mean(log_sum - chosen)))
