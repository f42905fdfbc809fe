"""skrl as a runner: its PPO on our tensors, which never leave the device, in its own environment."""
