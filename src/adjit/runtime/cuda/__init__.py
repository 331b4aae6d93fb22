"""Programs on CUDA devices, by CuPy: found when an array on such a device comes in, never imported before."""
