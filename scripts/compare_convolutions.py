"""Time oneDNN's convolution and a product of patches (PatchConv2d) on this CPU.

    python scripts/compare_convolutions.py [--seconds 15] [--threads 1]

One optimizer step of the small network on 128 samples, both ways in turns; processor time in ms.
Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from trainer_core.lab.presets import preset_config
from trainer_core.learn import policy
from trainer_core.learn.learner import Learner

SAMPLES = 128


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    config, cpu = preset_config("laptop"), torch.device("cpu")
    learners = {}
    for way in ("convolution", "product"):
        torch.manual_seed(1)
        network = policy.PixelActorCritic("small", (1, 72, 80), 7)
        learners[way] = Learner(network, config, cpu)
    pictures = torch.randint(0, 4, (SAMPLES, 1, 72, 80), dtype=torch.uint8)

    def step(way: str) -> float:
        policy.PATCHES_PAY = way == "product"
        learner = learners[way]
        began = time.process_time()
        logits, values = learner.forward(pictures)
        (logits.log_softmax(-1)[:, 0].mean() + values.square().mean()).backward()
        learner.step()
        return 1000 * (time.process_time() - began)

    taken: dict[str, list[float]] = {way: [step(way)][:0] for way in learners}
    deadline = time.monotonic() + options.seconds
    while time.monotonic() < deadline:
        for way, found in taken.items():
            found += [step(way) for _ in range(3)]
    print(
        json.dumps(
            {
                "cpu": torch.backends.cpu.get_cpu_capability(),
                "threads": options.threads,
                **{
                    f"{way}_ms": {
                        "least": round(min(found), 2),
                        "median": round(statistics.median(found), 2),
                        "steps": len(found),
                    }
                    for way, found in taken.items()
                },
            }
        )
    )


if __name__ == "__main__":
    main()
