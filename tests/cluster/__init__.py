"""The Slurm profile on a real Slurm, which the tests start themselves where they can."""
