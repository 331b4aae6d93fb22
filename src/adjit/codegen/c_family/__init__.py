"""Kernels as C text: one emitter, two dialects (OpenCL C, CUDA C++)."""
