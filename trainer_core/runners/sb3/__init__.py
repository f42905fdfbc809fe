"""Stable-Baselines3 as a runner: its PPO, DQN and RecurrentPPO in its own environment."""

LEAN = True
"""True since its worker uses little of torch (host.worker)."""
