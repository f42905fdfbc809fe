"""RLlib as a runner: its PPO in one process, on a batch of our consoles."""
