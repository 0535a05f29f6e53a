"""Rules about graph execs."""
