"""Random numbers that belong to a run: the same whatever else is in the ensemble, on any device.

A number is a hash of (seed of the run, use, step, place), so that a resumed training needs nothing
but its step. The hash is SplitMix64 (Steele, Lea & Flood 2014): a Weyl sequence through a 64-bit
finaliser, integer arithmetic alone, hence the same bits on CPU and GPU.
"""

import hashlib
import math
from collections.abc import Sequence

import torch
from torch import Tensor

# SplitMix64's odd constants, as torch's int64 holds them; no third factor.
_WEYL = 0x9E3779B97F4A7C15 - 2**64
_FACTORS = 0xBF58476D1CE4E5B9 - 2**64, 0x94D049BB133111EB - 2**64, 1


class RunRandom:
    """Random numbers for all runs at once; `seeds` are integers [runs], equal ones draw the same.

    Every draw takes `use`, a name of what the numbers are for ("initial W", "tokens"), and `step`:
    different ones give independent numbers, the same ones give the same numbers again.
    """

    def __init__(self, seeds: Sequence[int] | Tensor, device: str | torch.device = "cpu") -> None:
        self.seeds = torch.as_tensor(seeds, dtype=torch.int64).to(device).reshape(-1)

    def words(self, count: int, *, use: str, step: int = 0) -> Tensor:
        """Uniform 64-bit words, int64 [runs, count]."""
        digest = hashlib.sha256(use.encode()).digest()
        purpose = int.from_bytes(digest[:8], "little", signed=True)
        stride = torch.tensor(step, device=self.seeds.device) * _WEYL
        keys = _mix(_mix(self.seeds * _WEYL ^ purpose) + stride)
        places = torch.arange(1, count + 1, device=keys.device).mul_(_WEYL)
        return _mix(keys[:, None] + places)

    def uniform(self, *shape: int, use: str, step: int = 0, dtype=torch.float32) -> Tensor:
        """Uniform numbers in [0, 1), [runs, *shape]; 24 random bits in float32, 53 in float64."""
        bits = 53 if dtype == torch.float64 else 24
        words = self.words(math.prod(shape), use=use, step=step)
        kept = words.bitwise_right_shift_(64 - bits).bitwise_and_(2**bits - 1)
        return kept.to(dtype).mul_(2.0**-bits).reshape(-1, *shape)

    def normal(self, *shape: int, use: str, step: int = 0, dtype=torch.float32) -> Tensor:
        """Standard normal numbers, [runs, *shape], by Box and Muller; a GPU rounds otherwise."""
        count = math.prod(shape)
        pairs = self.uniform(2, (count + 1) // 2, use=use, step=step, dtype=torch.float64)
        radius = torch.log1p(-pairs[:, 0]).mul_(-2).sqrt_()
        angle = pairs[:, 1].mul(2 * math.pi)
        numbers = torch.cat([radius * angle.cos(), radius * angle.sin()], dim=1)
        return numbers[:, :count].to(dtype).reshape(-1, *shape)

    def integers(self, high: int, *shape: int, use: str, step: int = 0) -> Tensor:
        """Uniform integers 0 .. high - 1, int64 [runs, *shape], unbiased to 2**-53."""
        uniform = self.uniform(*shape, use=use, step=step, dtype=torch.float64)
        # A product that rounds up to `high` itself belongs to the last integer.
        return uniform.mul_(high).to(torch.int64).clamp_(max=high - 1)

    def flips(self, chance: float, *shape: int, use: str, step: int = 0) -> Tensor:
        """True with this chance, to within 2**-17, bool [runs, *shape]; for dropout masks."""
        count = math.prod(shape)
        # Four 16-bit numbers out of every word, from -2**15 to 2**15 - 1.
        lanes = self.words(-(-count // 4), use=use, step=step).view(torch.int16)
        end = round(chance * 2**16) - 2**15
        # Below 2**15 lie all of them, and 2**15 itself is no 16-bit number.
        return (lanes[:, :count] < (end if end < 2**15 else torch.inf)).reshape(-1, *shape)


def _mix(words: Tensor) -> Tensor:
    """SplitMix64's finaliser; int64 products wrap as they must."""
    for places, factor in zip((30, 27, 31), _FACTORS, strict=True):
        # torch shifts int64 arithmetically; the mask makes the shift logical.
        shifted = words.bitwise_right_shift(places).bitwise_and_(2 ** (64 - places) - 1)
        words = shifted.bitwise_xor_(words).mul_(factor)
    return words
