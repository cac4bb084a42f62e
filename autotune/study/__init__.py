"""The study: baseline, screen, verify, confirm. The one place where a trial's state is decided."""
