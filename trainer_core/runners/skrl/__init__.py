"""skrl as a runner: its PPO on tensors that never leave the device, in its own environment."""

LEAN = True
"""True since its worker uses little of torch (host.worker)."""
