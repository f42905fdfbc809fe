"""Stable-Baselines3 learns one of our tasks: `pip install stable-baselines3; python 04_sb3.py [STEPS]`."""

import sys

import torch
from stable_baselines3 import PPO

import dmglab

torch.set_num_threads(1)  # on a CPU: small networks gain nothing from more, and wait for each other
envs = dmglab.make_sb3("tiny_goal", num_envs=64)
model = PPO("MlpPolicy", envs, n_steps=32, batch_size=512, n_epochs=3, learning_rate=1e-3, gamma=0.97, seed=1)
model.learn(total_timesteps=int(sys.argv[1]) if sys.argv[1:] else 40_000)

held_out = dmglab.make_sb3("tiny_goal", num_envs=16, held_out=True)  # starts that training never saw
obs, solved = held_out.reset(), set()
for _ in range(32):
    actions, _ = model.predict(obs, deterministic=True)
    obs, _, _, infos = held_out.step(actions)
    solved |= {n for n, info in enumerate(infos) if info["is_success"]}
print(f"success on held-out starts: {len(solved) / 16:.2f}")
