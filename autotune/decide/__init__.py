"""Judgement, pure: timing intervals, accuracy verdicts, health. It judges and never runs anything."""
