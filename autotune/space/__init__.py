"""Candidates: what is searched, what was left out and why, and how training follows the batch. Pure."""
