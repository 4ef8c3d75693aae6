"""Scan and Snap (Tian, Wang, Chen & Du 2023): how attention of one layer chooses its tokens."""
