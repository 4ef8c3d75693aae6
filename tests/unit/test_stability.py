"""Claims about stability: what becomes another machine, and what its table says of two."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from onelayer.evidence import intervals
from onelayer.evidence.tables import tidy
from onelayer.run.portable import describe_processor
from onelayer.run.provenance import REPOSITORY, settings_json
from onelayer.settings.local_to_global import Variant
from onelayer.settings.root import load_settings
from onelayer.settings.stability import Machine
from onelayer.stability import CLAIM, claims
from onelayer.stability.machines import missing_instructions
from onelayer.stability.table import assemble, readable, stability, standard_error

HERE, THERE, SEEDS = (
    Machine(name="here"),
    Machine(name="there", environment={"MKL_CBWR": "AVX2"}, requires=["avx2"]),
    Machine(name="seeds", other_seeds=True),
)


def measured(*values: float, verdict: str = "reproduced") -> pd.DataFrame:
    """One claim with an interval of +-1 about its value for each number, and one without."""
    table = pd.DataFrame({"value": values}).assign(paper="P", quantity="loss", verdict=verdict)
    table["claim"] = "claim " + table.index.astype(str)
    ends = {"low": table["value"] - 1, "high": table["value"] + 1}
    return tidy(table.assign(**ends, n=4, runs=4), CLAIM)


def config(**stability: object) -> dict:
    found = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))
    found["stability"] |= stability
    return found


def value(table: pd.DataFrame, claim: str, machine: str, quantity: str = "loss") -> float:
    rows = table.set_index(["claim", "machine", "quantity"]).loc[[(claim, machine, quantity)]]
    return float(rows["value"].iloc[0])


def test_spread_between_machines_is_of_the_same_seeds_alone() -> None:
    table = assemble([HERE, THERE, SEEDS], [measured(1.0), measured(2.0), measured(50.0)])
    assert value(table, "claim 0", "spread between machines") == pytest.approx(math.sqrt(0.5))


def test_spread_between_seeds_is_the_standard_error_behind_the_interval() -> None:
    runs = np.array([1.0, 2.0, 4.0, 7.0])
    found = intervals.mean(runs)
    error = standard_error(*(found[name] for name in ("value", "low", "high", "n")))
    assert error == pytest.approx(runs.std(ddof=1) / 2)
    assert math.isnan(standard_error(1.0, math.nan, math.nan, 1))
    for half in ((3, 3), (5, 10)):  # of ten a half has a centred interval
        assert math.isnan(standard_error(*intervals.share(*half).values()))


def test_a_changed_verdict_is_counted_and_told() -> None:
    machines = [HERE, THERE, SEEDS]
    table = assemble(machines, [measured(1), measured(1, verdict="smaller"), measured(1)])
    row = table[table["machine"] == "verdicts that change"].iloc[0]
    assert (row["value"], row["n"], row["note"]) == (1, 2, "there: smaller")
    assert readable(table, machines)["verdicts that change"].tolist() == ["1 of 2"]


def test_verdicts_of_the_papers_tables_are_not_counted_once_more() -> None:
    table = assemble([HERE, THERE], [measured(1), measured(1)])
    assert set(table["verdict"]) == {""}
    assert set(table["judged"]) == {"reproduced", "none"}


def test_coverage_and_sameness_are_shares_of_the_claims() -> None:
    here, there = measured(1.0, 1.0, 1.0, 1.0), measured(1.0, 1.5, 2.5, 1.0)
    there.loc[3, "value"] = np.nan
    table = assemble([HERE, THERE], [here, there])
    assert value(table, "all claims", "there", "covered_share") == pytest.approx(2 / 3)
    assert value(table, "all claims", "there", "same_share") == 1 / 4


def test_an_interval_without_width_covers_the_value_that_it_is() -> None:
    here = measured(0.1).assign(low=0.1, high=0.1)
    table = assemble([HERE, THERE], [here, here])
    assert value(table, "all claims", "there", "covered_share") == 1


def test_a_machine_that_was_left_out_is_told_and_changes_nothing_else() -> None:
    machines = [HERE, THERE, SEEDS]
    left_out = stability([measured(1.0), claims.nothing(), measured(2.0)], machines)
    without = stability([measured(1.0), measured(2.0)], [HERE, SEEDS])
    pd.testing.assert_frame_equal(left_out.table, without.table)
    assert "there: Left out, the processor lacks one of avx2. MKL_CBWR=AVX2." in left_out.notes


def test_instructions_are_missing_where_the_processor_does_not_name_them(tmp_path: Path) -> None:
    processor = tmp_path / "cpuinfo"
    assert missing_instructions(THERE, describe_processor(processor)) == ["avx2"]
    processor.write_text("processor\t: 0\nflags\t\t: fpu avx avx512f\n")
    assert missing_instructions(THERE, describe_processor(processor)) == ["avx2"]
    processor.write_text("processor\t: 0\nflags\t\t: fpu avx2 fma\n")
    assert missing_instructions(THERE, describe_processor(processor)) == []


BECOME = """
import sys
from onelayer.settings.stability import Machine
from onelayer.stability.machines import become
assert not {"numpy", "torch"} & set(sys.modules)
become(Machine(name="m", environment={"ATEN_CPU_CAPABILITY": "default"}, threads=2))
import torch
print(torch.backends.cpu.get_cpu_capability(), torch.get_num_threads())
try:
    become(Machine(name="late"))
except RuntimeError as error:
    print(error)
"""


def test_libraries_take_the_switches_and_threads_of_the_machine() -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{REPOSITORY}/src"}
    run = subprocess.run(
        [sys.executable, "-c", BECOME], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines() == ["DEFAULT 2", "numpy is loaded, too late for late"]


def test_a_machine_whose_instructions_are_missing_is_left_out_in_one_line(tmp_path: Path) -> None:
    settings = load_settings(config())
    machine = Machine(name="future", requires=["avx2048"])
    text = settings_json(settings.claims_of(machine))
    script, out = f"{REPOSITORY}/scripts/measure_claims_again.py", tmp_path / "claims.parquet"
    run = subprocess.run(
        [sys.executable, script, "--claims", out, "--settings", text],
        env=os.environ | {"PYTHONPATH": f"{REPOSITORY}/src"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == "INFO future is left out: this processor has no avx2048\n"
    assert pd.read_parquet(out).empty


def test_other_seeds_are_those_that_follow() -> None:
    settings = load_settings(config())
    here, other = settings.claims_of(HERE), settings.claims_of(SEEDS)
    assert [start.seeds for start in here.joint_training] == [[0, 1, 2, 3]] * 2
    assert [start.seeds for start in other.joint_training] == [[4, 5, 6, 7]] * 2
    first = claims.joint_training([s.model_copy(update={"steps": 5}) for s in here.joint_training])
    next_ = claims.joint_training([s.model_copy(update={"steps": 5}) for s in other.joint_training])
    assert first["claim"].tolist() == next_["claim"].tolist()
    assert not first["value"].equals(next_["value"])


def test_other_seeds_train_alone_what_they_train_among_all(monkeypatch) -> None:
    from onelayer.papers.local_to_global import training
    from onelayer.papers.scan_snap import simulation

    again = load_settings(config(scan={"seeds": 2})).claims_of(SEEDS)
    short = again.scan.model_copy(update={"iterations": 20, "batch": 8, "length": 16})
    both = simulation.simulate(short.model_copy(update={"seeds": 4}))
    alone = simulation.simulate(short, first_seed=2)
    pd.testing.assert_frame_equal(alone, both[both["seed"] >= 2].reset_index(drop=True))

    asked = again.transformers.model_copy(update={"evaluate_every": 2, "evaluate_on": 4})
    variants = [Variant(name="a", iterations=4, batch=2)]
    own = training.train_variants(variants, asked, first_seed=2)
    all_four = training.train_variants(variants, asked.model_copy(update={"seeds": 4}))
    tail = all_four[all_four["seed"] >= 2].reset_index(drop=True)
    # The held-out sequences are the same: the seed that follows draws them.
    pd.testing.assert_frame_equal(own, tail)

    trained = []
    monkeypatch.setattr(claims, "simulate", lambda s, *_, **_k: trained.append(s.seeds) or alone)
    claims.scan(short, other_seeds=True)
    assert trained == [2]


def test_claims_of_scan_and_snap_are_rows_of_its_own_table() -> None:
    from onelayer.papers.scan_snap import claims as own
    from onelayer.papers.scan_snap.simulation import simulate

    again = load_settings(config(scan={"seeds": 3})).claims_of(HERE).scan
    again = again.model_copy(update={"iterations": 20, "batch": 8, "length": 16})
    simulated = simulate(again)
    expected = own.scan_claims(simulated, 20)
    found = claims.scan(again)
    assert found["claim"].tolist() == [claim.claim for claim in expected]
    np.testing.assert_array_equal(found["value"], [claim.row()["value"] for claim in expected])
    other = claims.scan(again, other_seeds=True)
    assert len(other) == len(found) and not other["value"].equals(found["value"])


def test_two_stages_have_as_many_seeds_as_stability_says():
    settings = load_settings(config())
    again = settings.stability.two_stages
    found = again.of(settings.topic_structure.synthetic.two_stages)
    assert found.seeds == again.seeds
    assert [one.seeds for one in found.settings] == [None]
