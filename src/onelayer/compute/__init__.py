"""What trainings share: devices, states, seeds, processes, ensembles."""
