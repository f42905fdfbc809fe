"""Shared code of the adapters of other libraries ("guests"), each with its own environment."""
