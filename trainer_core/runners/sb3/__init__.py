"""Stable-Baselines3 as a runner: its PPO, DQN and RecurrentPPO in its own environment."""

LEAN = True
"""Its worker asks little of torch (host.worker)."""
