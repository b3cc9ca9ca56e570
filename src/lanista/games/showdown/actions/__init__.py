"""What a seat can order, as numbers, as options and as the simulator's text."""
