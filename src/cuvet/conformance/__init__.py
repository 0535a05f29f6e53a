"""Whether the model says what the driver does: random programs, played on a real driver, recorded, and compared with the model."""
