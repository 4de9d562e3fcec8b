import numpy as np
from numpy.typing import NDArray

def codebook(
    points: NDArray[np.float64], bits: int = 4, weights: NDArray[np.float64] | None = None, seed: int = 1
) -> NDArray[np.float64]:
    """The centroids of K-Means on numbers, ascending: float64 [2 ** bits] (KLLM, section III-A)."""

def top_k(x: NDArray[np.float16], k: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """The places of the k largest and of the k smallest numbers, and Orizuru's comparisons (KLLM, section IV-C)."""

def round_trip(x: NDArray[np.float16], bits: int = 4, outliers: float = 0.01) -> NDArray[np.float16]:
    """Tokens as indices and outliers, and back: float16 [tokens, channels]."""

def product(
    x: NDArray[np.float16], w: NDArray[np.float16], bits: int = 4, weight_bits: int = 4, outliers: float = 0.01
) -> NDArray[np.float16]:
    """A product as KLLM computes it: float16 [tokens, channels] and [channels, columns] to [tokens, columns]."""
