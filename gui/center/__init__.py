"""The tabs in the middle of the window: live picture, env wall, replay, welcome."""
