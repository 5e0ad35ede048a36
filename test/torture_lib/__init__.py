"""The parts of test/torture: see there."""
