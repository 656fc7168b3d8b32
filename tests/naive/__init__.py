"""Oracles written from the definitions, with loops and lists; nothing here imports symgrove."""
