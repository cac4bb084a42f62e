"""The append-only local record of a study: the only truth. Sinks read it and never influence the study."""
