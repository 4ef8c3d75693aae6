"""Scan and Snap (Tian, Wang, Chen & Du 2023): training dynamics of a one-layer transformer."""
