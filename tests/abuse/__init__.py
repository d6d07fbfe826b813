"""Worst-case samples, and what each costs."""
