"""Checked downloads: package index, model hub, archives."""
