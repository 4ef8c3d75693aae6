"""Checkpoints: gathered from wheels, hubs and folders, checked, loaded and read."""
