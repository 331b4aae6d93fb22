"""Sparse Jacobians and Hessians: pattern, colouring, products, matrices."""
