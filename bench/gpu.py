"""`make bench-gpu`: every training, sweep and probe on the CPU and on a GPU; whether they agree.

For each: seconds on both; steps of all runs a second on the GPU; how much of its limit that is, the
larger of the products at the rate of a large matrix product and the traffic at the rate of a large
copy, both measured on the same device; and the share of numbers that agree. Of independent runs
either mean must lie in the other's 95% interval, all else must be the same to 1e-4.

Parts that read no text need torch, numpy, pandas and what the library imports for them; the others
also transformers and tokenizers, and are left out where these are missing. `--default`, `--paper`
and `--pretraining` run the workflow, and need all of it.
"""

import argparse
import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from bench.case import counted_flops
from onelayer.compute.device import on_gpu, resolve_device
from onelayer.errors import OnelayerError
from onelayer.evidence.intervals import mean

ROOT = Path(__file__).resolve().parents[1]
SAME = 1e-4  # relative difference of numbers that are no sample
FEWEST = 3  # steps of a part
AGREE = 0.9  # share of numbers that must agree: one of twenty intervals misses by chance
COLUMNS = ["what", "CPU, s", "GPU, s", "CPU / GPU", "run-steps/s", "of the limit", "agree"]
Numbers = Mapping[str, np.ndarray]  # [..., runs], or [...] under a name that begins with `exactly`


@dataclass(frozen=True)
class Part:
    """One computation.

    Attributes:
        name: what is computed.
        steps: how many, by default.
        runs: models, trajectories or texts that take each step.
        run: (device, steps) -> numbers.
        bytes: read and written by any code in a step of a run.
        counted: steps in which matrix products are counted, on the CPU; 0: there are none.
    """

    name: str
    steps: int
    runs: int
    run: Callable[[str, int], Numbers]
    bytes: float
    counted: int = 2


@dataclass(frozen=True)
class Limits:
    """Rates of a device.

    Attributes:
        flops: float32 multiplications and additions a second, in a large matrix product.
        bytes: read and written a second, in a large copy.
    """

    flops: float
    bytes: float

    @classmethod
    def measured(cls, device: str, small: bool) -> "Limits":
        """The best of ten of each, on numbers that are random."""
        size, count = (64, 2**12) if small else (8192, 2**28)
        a, source = torch.rand(size, size, device=device), torch.rand(count, device=device)
        target, product = torch.empty_like(source), torch.empty_like(a)
        multiplied = min(_seconds(lambda: torch.mm(a, a, out=product), device) for _ in range(10))
        copied = min(_seconds(lambda: target.copy_(source), device) for _ in range(10))
        return cls(2 * size**3 / multiplied, 2 * source.nbytes / copied)

    def seconds(self, flops: float, traffic: float) -> float:
        """Below which no code comes."""
        return max(flops / self.flops, traffic / self.bytes)


def _seconds(call: Callable[[], object], device: str) -> float:
    """Wall-clock seconds of a call, with all that it launched."""
    _wait(device)
    start = time.perf_counter()
    call()
    _wait(device)
    return time.perf_counter() - start


def _wait(device: str) -> None:
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def agreement(ours: Numbers, theirs: Numbers) -> float:
    """Share of numbers of two devices that agree."""
    found = []
    for name, here in theirs.items():
        there = np.asarray(ours[name], dtype=np.float64)
        here = np.asarray(here, dtype=np.float64)
        if name.startswith("exactly"):
            most = np.nanmax(np.abs(here), initial=1e-30)
            found += (np.abs(there - here) <= SAME * most).ravel().tolist()
            continue
        rows = (values.reshape(-1, values.shape[-1]) for values in (there, here))
        found += [_meet(mean(one), mean(other)) for one, other in zip(*rows, strict=True)]
    return float(np.mean(found))


def _meet(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether either mean lies in the other's interval, or both are the same."""
    same = abs(one["value"] - other["value"]) <= SAME * max(abs(other["value"]), 1e-30)
    inside = (a["low"] <= b["value"] <= a["high"] for a, b in ((one, other), (other, one)))
    return same or any(inside) or (np.isnan(one["value"]) and np.isnan(other["value"]))


def measure(part: Part, device: str, limits: Limits) -> tuple[list[str], bool]:
    """A line of the table, and whether the devices agree."""
    part.run(device, min(part.steps, 5))  # libraries and graphs set themselves up
    found: dict[str, Numbers] = {}
    there = _seconds(lambda: found.update(there=part.run(device, part.steps)), device)
    here = _seconds(lambda: found.update(here=part.run("cpu", part.steps)), "cpu")
    flops = 0.0
    if part.counted:
        few = min(part.counted, part.steps)
        flops = counted_flops(lambda: part.run("cpu", few)) / few * part.steps
    limit = limits.seconds(flops, part.bytes * part.runs * part.steps)
    share = agreement(found["there"], found["here"])
    rate = part.runs * part.steps / there
    cells = [f"{here:,.2f}", f"{there:,.3f}", f"{here / there:,.1f}", f"{rate:,.0f}"]
    return [part.name, *cells, f"{limit / there:.1%}", f"{share:.1%}"], share >= AGREE


def synthetic(small: bool) -> Iterator[Part]:
    """Parts that read no text, at the sizes of the default or next to nothing."""
    from bench import gpu_parts

    yield gpu_parts.entropy_sweep(small)
    yield gpu_parts.phase_map(small)
    yield gpu_parts.synthetic_topics(small)
    yield gpu_parts.transformers(small)
    yield gpu_parts.basin_map(small)
    yield gpu_parts.decision_lists(small)
    yield gpu_parts.language_model(small)


def with_text_models(small: bool) -> Iterator[Part]:
    """Pretraining of each family, and the probe."""
    from bench import gpu_text_parts
    from onelayer.text.models.families import FAMILIES

    for family in sorted(FAMILIES):
        yield gpu_text_parts.pretraining(family, small)
    yield gpu_text_parts.probe(small)


def bench(device: str, small: bool, chosen: list[str], share: float = 1.0) -> bool:
    """Print rates and the table, of a share of each part's steps; whether all parts agree."""
    limits = Limits.measured(device, small)
    print(f"matrix product, float32: {limits.flops / 1e12:,.3f} TFLOP/s")
    print(f"copy, bytes read and written: {limits.bytes / 1e9:,.1f} GB/s")
    print(f"CPU: {torch.get_num_threads()} threads\n")
    parts = list(synthetic(small))
    missing = [n for n in ("transformers", "tokenizers") if importlib.util.find_spec(n) is None]
    parts += [] if missing else with_text_models(small)
    rows, agreed = [COLUMNS], True
    for part in parts:
        if not chosen or any(name in part.name for name in chosen):
            part = replace(part, steps=max(FEWEST, round(share * part.steps)))
            cells, agrees = measure(part, device, limits)
            rows.append(cells)
            agreed &= agrees
            print(*cells, sep="  ", file=sys.stderr, flush=True)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        right = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        print(first.ljust(widths[0]), *right, sep="  ")
    if missing:
        print(f"\nleft out, {' and '.join(missing)} missing: pretraining, probe")
    return agreed


# What each of the longer runs is: overlay, targets.
SYNTHETIC = [
    "local_to_global",
    "decision_lists",
    "topic_structure_synthetic",
    "table_entropy_sweep",
]
SYNTHETIC += ["figure_phase_map", "figure_attention_over_time"]


def run_workflow(name: str, overlay: str | None, targets: list[str]) -> float:
    """Seconds of a run of the workflow in `runs/<name>`, with every device left to `auto`.

    Raises:
        OnelayerError: a step failed.
    """
    folder = ROOT / "runs" / name
    command = [sys.executable, "-m", "snakemake", "--directory", str(folder), "--cores", "all"]
    command += ["--configfile", overlay] if overlay else []
    start = time.perf_counter()
    done = subprocess.run([*command, "--", *targets], cwd=ROOT, check=False)
    if done.returncode:
        raise OnelayerError(f"{name}: the workflow ended with {done.returncode}")
    return time.perf_counter() - start


def pretraining_overlay(tokens: int) -> str:
    """Settings in which all five families are trained on so many tokens, as YAML."""
    return f"pretraining:\n  tokens: {tokens}\n"


def longer_runs(arguments: argparse.Namespace) -> None:
    """What the options ask for beyond the table."""
    if arguments.default:
        seconds = run_workflow("gpu", None, ["all"])
        print(f"default run: {seconds:,.0f} s; its tables beside the reference run's:")
        compare = [sys.executable, "-m", "onelayer", "compare", "runs/gpu/results"]
        subprocess.run(compare, cwd=ROOT, check=False)
    if arguments.paper:
        seconds = run_workflow("gpu-paper", "config/paper.yaml", SYNTHETIC)
        print(f"paper overlay, synthetic part: {seconds:,.0f} s")
    if arguments.pretraining:
        overlay = ROOT / "runs" / "gpu-pretraining.yaml"
        overlay.parent.mkdir(exist_ok=True)
        overlay.write_text(pretraining_overlay(arguments.pretraining), encoding="utf-8")
        targets = ["table_topic_structure_over_tokens", "table_wikipedia_disjoint"]
        seconds = run_workflow("gpu-pretraining", str(overlay), targets)
        print(f"pretraining, {arguments.pretraining:,} tokens a family: {seconds:,.0f} s")
        print("rows of their own: runs/gpu-pretraining/results/tables")


def main(words: list[str]) -> int:
    """Run what the command line asks for; 0 where all agrees."""
    parser = argparse.ArgumentParser(prog="make bench-gpu", description=__doc__.partition("\n")[0])
    parser.add_argument("only", nargs="*", help="parts whose names hold one of these")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--small", action="store_true", help="next to nothing of everything")
    parser.add_argument("--share", type=float, default=1.0, help="of the steps of each part (1)")
    parser.add_argument("--threads", type=int, default=2, help="of the CPU (2)")
    parser.add_argument("--default", action="store_true", help="then the whole default run")
    parser.add_argument("--paper", action="store_true", help="then the paper overlay, synthetic")
    parser.add_argument("--pretraining", type=int, metavar="TOKENS", help="then five families")
    arguments = parser.parse_args(words)
    threads = torch.get_num_threads()
    try:
        device = resolve_device(arguments.device)
        if not 0 < arguments.share <= 1:
            raise OnelayerError(f"--share: {arguments.share:g}; above 0, at most 1")
        torch.set_num_threads(arguments.threads)
        agreed = bench(device, arguments.small, arguments.only, arguments.share)
        longer_runs(arguments)
    except OnelayerError as error:
        print(f"bench-gpu: {error}", file=sys.stderr)
        return 2
    finally:
        torch.set_num_threads(threads)
    if not agreed:
        print(f"bench-gpu: less than {AGREE:.0%} of some part's numbers agree", file=sys.stderr)
    elif not on_gpu(device):
        print("\nboth on the CPU: this says nothing of any GPU")
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
