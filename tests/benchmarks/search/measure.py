"""Measures a landscape on this machine: `make landscape MODEL=cifar_mlp`. A measurement that was killed goes on.

What is thinned out to keep it affordable is said in the file's head. On a busy machine `--calm 0.3` waits, before each
measurement, until others use no more than that share of the cores. A landscape replaces the one that is there, unless
another `--name` keeps both, such as `cifar_mlp_zen4` for another machine's.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median

from tests.benchmarks.search import lines as files
from tests.benchmarks.search.landscape import InForce, Landscape
from tests.benchmarks.search.measuring import Measuring, minutes
from tests.benchmarks.search.plans import FURTHER, PLANS, SEEDS, TURNS, Plan
from tests.benchmarks.search.worth import HOPELESS, SLOW
from tests.benchmarks.truth.workers import REPOSITORY


def finished(found: Landscape, plan: Plan) -> Landscape:
    """The landscape as it is stored: with the load while it was measured, and with what is missing said."""
    loads = [one.load for one in found if not isinstance(one, InForce)]
    everyone = len(found.trainings[found.baseline])
    few = [one for one, runs in found.trainings.items() if len(runs) < everyone]
    thinned = [f"override {override}" for override in plan.overrides if override.startswith("model.")]
    if few:
        why = f"they lost over {HOPELESS:g} margins, were at most {SLOW:g} times as fast, or the time was up"
        thinned.append(
            f"{len(few)} of {len(found.trainings)} groups were trained on fewer than {everyone} seeds, since {why}: a"
            " further seed is served as the baseline's plus a recorded loss"
        )
    turns = {len(timings) for timings in found.timings.values()}
    if len(turns) > 1:
        thinned.append(f"candidates were timed in {min(turns)} to {max(turns)} processes, those near the best in most")
    thinned.append("which examples a model gets right, and the conditions of each block, are not kept")
    load = (min(loads), median(loads), max(loads))
    head = replace(found.head, load=load, minutes=minutes(found), thinned=tuple(thinned))
    return replace(found, head=head)


def main() -> None:
    """Measure one model, and store what was found."""
    parser = argparse.ArgumentParser(description="Measure a landscape on this machine")
    parser.add_argument("model", choices=sorted(PLANS))
    parser.add_argument("--work", type=Path, default=REPOSITORY / "outputs" / "landscapes", help="folder of work files")
    parser.add_argument("--into", type=Path, default=files.FOLDER, help="folder of the landscape")
    parser.add_argument("--name", help="of the landscape, by default the model's")
    parser.add_argument("--minutes", type=float, help="after which no further seed or turn begins")
    parser.add_argument("--turns", type=int, default=TURNS, help="fresh processes that time every candidate")
    parser.add_argument("--further", type=int, default=FURTHER, help="processes that time only what may be the best")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of the trainings")
    parser.add_argument("--calm", type=float, default=1.0, help="wait while others use a larger share of all cores")
    asked = parser.parse_args()
    for folder in (asked.work, asked.into):
        folder.mkdir(parents=True, exist_ok=True)
    plan = replace(PLANS[asked.model], turns=asked.turns, further=asked.further, seeds=asked.seeds)
    plan = replace(plan, minutes=asked.minutes or plan.minutes)
    try:
        measuring = Measuring(asked.model, plan, asked.work, asked.calm)
    except ValueError as error:
        parser.error(str(error))
    found = finished(measuring.run(), plan)
    path = files.write(found, asked.into / f"{asked.name or asked.model}.jsonl")
    sys.stdout.write(f"{path}: {path.stat().st_size / 1e3:.0f} kB\n")


if __name__ == "__main__":
    main()
