"""`python verl_main.py CHECKOUT ROWS OVERRIDE...`: rLLM's AgentTrainer on VERL, for countdown.

Runs in the interpreter that has VERL, so it imports nothing of ours. ROWS is a folder with
train.jsonl and test.jsonl; OVERRIDE are Hydra's. As rLLM's examples/countdown/train_countdown.py,
but for the rows.
"""

# pyright: reportMissingImports=false

import json
import sys
from pathlib import Path

CHECKOUT, ROWS = sys.argv[1:3]
sys.path.insert(0, CHECKOUT)
sys.argv[1:] = sys.argv[3:]

import hydra  # noqa: E402
from rllm.data.dataset import DatasetRegistry  # noqa: E402
from rllm.rewards.countdown_reward import countdown_reward_fn  # noqa: E402
from rllm.trainer.agent_trainer import AgentTrainer  # noqa: E402
from rllm.workflows.simple_workflow import SimpleWorkflow  # noqa: E402


def registered(split: str):
    lines = Path(ROWS, f"{split}.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return DatasetRegistry.register_dataset("countdown", rows, split)


@hydra.main(
    config_path="pkg://rllm.trainer.config", config_name="agent_ppo_trainer", version_base=None
)
def main(config) -> None:
    trainer = AgentTrainer(
        workflow_class=SimpleWorkflow, workflow_args={"reward_function": countdown_reward_fn},
        config=config, train_dataset=registered("train"), val_dataset=registered("test"),
    )  # fmt: skip
    trainer.train()


if __name__ == "__main__":
    main()  # pyright: ignore[reportCallIssue]
