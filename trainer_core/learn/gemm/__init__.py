"""Networks as matrix products in bf16: forward, backward and Adam without autograd (ADR 11)."""
