"""Says what device code files and images hold, and what a driver does with it on a GPU."""
