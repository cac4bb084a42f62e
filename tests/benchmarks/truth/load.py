"""Other processes that take cores of this machine, steadily or in random bursts.

    with cores_taken(bursts=True):
        ...

Run as a script it is the load itself: `python load.py SEED MEAN_S`, where bursts and the pauses between them last
`MEAN_S` on average (exponentially distributed), and 0 means no pauses.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

# As long as a few blocks: shorter bursts average out within one, longer ones hit whole pairs alike.
BURST_S = 0.1


@contextmanager
def cores_taken(*, bursts: bool, cores: int = 1, seed: int = 0) -> Iterator[None]:
    """So many busy processes for as long as the context lasts."""
    mean_s = BURST_S if bursts else 0.0
    busy = [
        subprocess.Popen([sys.executable, "-S", __file__, str(seed + number), str(mean_s)]) for number in range(cores)
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def burn(seed: int, mean_s: float) -> None:
    """Take a core until killed."""
    chance = random.Random(seed)
    while True:
        until = time.perf_counter() + (chance.expovariate(1 / mean_s) if mean_s else 1.0)
        while time.perf_counter() < until:
            pass
        if mean_s:
            time.sleep(chance.expovariate(1 / mean_s))


if __name__ == "__main__":
    burn(int(sys.argv[1]), float(sys.argv[2]))
