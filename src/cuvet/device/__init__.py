"""The emulated device: a process that answers driver calls with the model's statuses, and keeps memory in the caller's own."""
