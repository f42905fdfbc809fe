"""Load the newest trained policy and let it play: `python 08_load_policy.py [RUN OR CHECKPOINT]`."""

import sys

import dmglab

policy = dmglab.load_policy(sys.argv[1] if sys.argv[1:] else "latest")
print(policy, policy.actions)
env = dmglab.make(policy.task, num_envs=32, held_out=True)  # starts that training never saw
obs, _ = env.reset(seed=1)
begins, goals, episodes = None, 0, 0
while episodes < 32:
    actions = policy.act(obs, episode_start=begins)
    obs, reward, terminated, truncated, infos = env.step(actions)
    begins = terminated | truncated
    goals, episodes = goals + int(terminated.sum()), episodes + int(begins.sum())
print(f"{goals} of {episodes} episodes reached the goal")
