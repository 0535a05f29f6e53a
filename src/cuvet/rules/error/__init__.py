"""Rules about errors that are not the fault of the call that returns them."""
