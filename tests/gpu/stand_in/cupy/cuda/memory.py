class OutOfMemoryError(MemoryError):
    """As CuPy's."""
