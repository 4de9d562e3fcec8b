import numpy as np
from numpy.typing import NDArray

class Calibration:
    """Biases, groups and scales of the channels of some rows (Tender, section III-B)."""

    def __init__(self, x: NDArray[np.float64], bits: int = 8, groups: int = 8, signed: bool = True) -> None: ...
    @property
    def bias(self) -> NDArray[np.float64]: ...
    @property
    def group(self) -> NDArray[np.int64]: ...
    @property
    def scales(self) -> NDArray[np.float64]: ...
    @property
    def order(self) -> NDArray[np.int64]: ...
    def quantize(self, x: NDArray[np.float64]) -> NDArray[np.int64]: ...
    def dequantize(self, q: NDArray[np.int64]) -> NDArray[np.float64]: ...

def product(
    x: NDArray[np.float64],
    w: NDArray[np.float64],
    bits: int = 8,
    groups: int = 8,
    chunk: int = 256,
    signed: bool = True,
) -> NDArray[np.float64]:
    """A product as Tender computes it: float64 [rows, channels] and [channels, columns] to [rows, columns]."""
