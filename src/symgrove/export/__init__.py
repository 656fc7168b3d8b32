"""A fitted model in other languages. Every export writes down the same plan (models/plan.py)."""
