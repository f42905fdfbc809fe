"""Write an actor-critic yourself, as CleanRL does: `python 05_own_training_loop.py [UPDATES]`."""

import sys

import torch
from torch import nn

import dmglab

torch.set_num_threads(1)  # on a CPU: small networks gain nothing from more, and wait for each other
env = dmglab.make("tiny_goal", num_envs=64)  # or any of dmglab.tasks(), and device="cuda:0"
net = nn.Sequential(nn.AvgPool2d(8), nn.Flatten(), nn.Linear(90, 128), nn.ReLU(), nn.Linear(128, 8))
adam = torch.optim.Adam(net.parameters(), lr=3e-3)
obs, _ = env.reset(seed=1)
for _update in range(int(sys.argv[1]) if sys.argv[1:] else 300):
    kept = []
    for _ in range(16):
        out = net(obs / 255)
        choice = torch.distributions.Categorical(logits=out[:, :7])
        obs, reward, terminated, truncated, infos = env.step(action := choice.sample())
        kept.append((choice.log_prob(action), out[:, 7], reward, ~(terminated | truncated), choice.entropy()))
    returns, loss = net(obs / 255)[:, 7].detach(), 0.0
    for log_prob, value, reward, goes_on, entropy in reversed(kept):
        returns = reward + 0.97 * returns * goes_on
        loss += (-(returns - value.detach()) * log_prob + 0.5 * (returns - value) ** 2 - 0.01 * entropy).mean()
    adam.zero_grad()
    loss.backward()
    adam.step()
print(f"mean reward {torch.stack([step[2] for step in kept]).mean():+.3f}")
