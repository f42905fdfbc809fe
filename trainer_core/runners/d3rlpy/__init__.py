"""d3rlpy as a runner: offline learning from recorded play, in its own environment."""
