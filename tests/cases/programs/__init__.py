"""Programs and their records, grouped by what is hard about them."""
