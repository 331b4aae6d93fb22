"""The host's side of programs on devices: Python that launches kernels."""
