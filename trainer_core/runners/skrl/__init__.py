"""skrl as a runner: its PPO in its own environment; observations and actions stay on the GPU."""

LEAN = True
"""True since its worker uses little of torch (host.worker)."""
