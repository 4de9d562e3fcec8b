"""Checks that the stored tensors belong together: one is recomputed from others.

The bounds are derived, not tuned. Storing rounds each activation by at most `ROUND` of its size (the
weights are stored exactly), so a product sum is off by at most ROUND * (|x| @ |w|), and what it is
compared with by ROUND of its own size.
"""

import numpy as np

from model import attend, rms_norm, rope
from tensors import COLUMNS, FULL_LAYER, KEPT_TOKENS, LAYERS

# Half a unit in the last place of a normal float16, and half the smallest subnormal.
ROUND, TINY = 2.0**-11, 2.0**-25
# Room for the float64 arithmetic of the check itself.
SLACK = 1 + 1e-6


def compare(label, got, stored, bound):
    """Raises when `got` is further from `stored` than `bound` plus the rounding of `stored`."""
    excess = np.abs(got - stored) - SLACK * (bound + ROUND * np.abs(stored) * (1 + ROUND) + TINY)
    if excess.max() > 0:
        at = tuple(int(i) for i in np.unravel_index(excess.argmax(), excess.shape))
        raise AssertionError(f"{label}{list(at)}: recomputed {got[at]}, stored {stored[at]}")


def check(tensors, config):
    """Recomputes queries, keys, values, norm and attention; returns how many elements were compared."""
    stored = {t.name: t.value.astype(np.float64) for t in tensors}
    compared = 0

    def same(label, got, want, bound):
        nonlocal compared
        compare(label, got, want, bound)
        compared += got.size

    for layer, kv_head in LAYERS.items():
        at = {n[4:]: v for n, v in stored.items() if n.startswith(f"l{layer:02}_")}
        group = len(at["q_trace"])
        heads = slice(kv_head * group, (kv_head + 1) * group)
        x = at["attn_in"]
        rotated = [("q", "w_q", at["q_trace"][0])]
        if layer == FULL_LAYER:
            rotated.append(("k", "w_k", at["k_trace"]))
            bound = ROUND * (np.abs(x) @ np.abs(at["w_v"]))
            same("v", x @ at["w_v"], at["v_trace"][:KEPT_TOKENS], bound)
            # Scaling by a factor s rounded input: the mean square moves by less than 2 * ROUND of itself.
            normed = rms_norm(at["attn_residual"], at["attn_norm"], config.norm_eps)
            same("attn_in", normed, x, 3 * ROUND * np.abs(normed))
        for name, weight, want in rotated:
            w = at[weight]
            got = rope((x @ w)[None], config.rope_base)[0]
            pair = ROUND * (np.abs(x) @ np.abs(w))
            # A rotation moves an element by at most the sum of its pair's errors.
            pair = np.repeat(pair[:, 0::2] + pair[:, 1::2], 2, axis=1)
            same(name, got, want[:KEPT_TOKENS], pair)
        for name, part in (("q", heads), ("k", kv_head), ("v", kv_head)):
            same(name, at[name][part], at[f"{name}_trace"][..., :KEPT_TOKENS, :], 0.0)
        q, k, v = (at[n][part] for n, part in (("q", heads), ("k", [kv_head]), ("v", [kv_head])))
        first = kv_head * group * COLUMNS
        want = at["attn_out"][:, first : first + group * COLUMNS]
        same("attn_out", attend(q, k, v), want, attention_bound(q, k, v))
    return compared


def attention_bound(q, k, v):
    """How far rounding q, k and v can move `attend`'s result."""
    dim = q.shape[-1]
    # Score error per (head, query), the worst key: both factors are rounded.
    score = (2 * ROUND + ROUND**2) * (np.abs(q) @ np.abs(k[0]).T).max(axis=-1) / np.sqrt(dim)
    # Each probability is off by at most a factor exp(2 * score).
    factor = np.repeat(np.expm1(2 * score).T, dim, axis=1) * (1 + ROUND) + ROUND
    # The probabilities are those of the stored q and k; the factor covers them either way.
    return factor * attend(q, k, np.abs(v)) * (1 + factor)
