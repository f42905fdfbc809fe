"""Curves that other tools logged: files of W&B's client, event files of TensorBoard."""
