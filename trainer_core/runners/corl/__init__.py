"""CORL as a runner: its scripts, unmodified, on a dataset; those of finetune go on in its environment."""
