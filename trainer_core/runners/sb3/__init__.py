"""Stable-Baselines3 as a runner: its PPO and DQN on our consoles, in its own environment."""
