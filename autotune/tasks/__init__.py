"""What one run can do: each task reads as its own pipeline, in order."""
