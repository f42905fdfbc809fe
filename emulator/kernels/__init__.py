"""Warp functions and kernels: one source for the CPU and CUDA devices."""
