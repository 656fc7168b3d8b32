"""Fitness in closed form: bootstrap counts, moments, linear scaling and losses; no pass over data."""
