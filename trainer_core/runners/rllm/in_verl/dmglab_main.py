"""Main program for VERL, `python dmglab_main.py ROWS OVERRIDE...`: rLLM's AgentTrainer on countdown.

Runs in VERL's interpreter, with rLLM's checkout and this folder on PYTHONPATH. ROWS is a folder with train.jsonl,
test.jsonl and answers.json; OVERRIDE are Hydra's. Like rLLM's examples/countdown/train_countdown.py, except for the
rows, the prefill and the reward of form.
"""

# pyright: reportMissingImports=false

import json
import sys
from pathlib import Path

ROWS = Path(sys.argv[1])
sys.argv[1:] = sys.argv[2:]

import hydra  # noqa: E402
import pandas  # noqa: E402
from dmglab_workflow import Countdown  # noqa: E402
from rllm.data.dataset import DatasetRegistry  # noqa: E402
from rllm.trainer.agent_trainer import AgentTrainer  # noqa: E402


def registered(split: str):
    lines = (ROWS / f"{split}.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    dataset = DatasetRegistry.register_dataset("countdown", rows, split)
    # VERL reads a row's data source in `extra_info` only, but names val/* after the column beside it.
    path = dataset.get_verl_data_path()
    pandas.read_parquet(path).assign(data_source="countdown").to_parquet(path)
    return dataset


@hydra.main(config_path="pkg://rllm.trainer.config", config_name="agent_ppo_trainer", version_base=None)
def main(config) -> None:
    trainer = AgentTrainer(
        workflow_class=Countdown,
        workflow_args=json.loads((ROWS / "answers.json").read_text()),
        config=config,
        train_dataset=registered("train"),
        val_dataset=registered("test"),
    )
    trainer.train()


if __name__ == "__main__":
    main()  # pyright: ignore[reportCallIssue]
