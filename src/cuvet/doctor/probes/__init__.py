"""One probe, one file; ``cuvet.doctor.probe`` says what a probe is and finds these by listing."""
