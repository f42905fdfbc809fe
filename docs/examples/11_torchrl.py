"""A task as a TorchRL environment: `pip install torchrl; python 11_torchrl.py [STEPS]`."""

import sys

from torchrl.envs.utils import check_env_specs

import dmglab

env = dmglab.make_torchrl("tiny_goal", num_envs=16)
check_env_specs(env)
rollout = env.rollout(int(sys.argv[1]) if sys.argv[1:] else 100, break_when_any_done=False)
print(rollout, rollout["next", "reward"].mean())
env.close()
