"""Local to Global: Learning Dynamics and Effect of Initialization (Makkuva et al. 2024)."""
