"""Throughput of the machines: alone (env_bench), and beside PyBoy (peers)."""
