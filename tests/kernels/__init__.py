"""Kernels and parallel loops."""
