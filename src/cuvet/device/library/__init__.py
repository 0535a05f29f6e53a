"""The emulated libraries: handles are made, given streams and destroyed; nothing is computed."""
