"""skrl as a runner: its PPO on tensors that never leave the device, in its own environment."""

LEAN = True
"""Its worker asks little of torch (host.worker)."""
