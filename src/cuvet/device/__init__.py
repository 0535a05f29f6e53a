"""The emulated device: a process that answers driver calls with the model's statuses. Its memory is in the calling process."""
