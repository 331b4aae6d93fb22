"""Array functions of NumPy as plain Python, by idea: a call of one is inlined as if the user had written it.

They may call each other. Arrays named `made` are filled: they are made by the caller, without a dtype, and have that
of what is stored first. What is computed in an order of its own follows Numba's implementations.
"""
