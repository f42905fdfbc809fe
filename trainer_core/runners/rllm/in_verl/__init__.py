"""Modules for VERL's own interpreter, which has only this folder of ours on its path."""
