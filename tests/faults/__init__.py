"""What goes wrong: kills, bad downloads, full disks, bad input."""
