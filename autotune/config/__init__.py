"""The typed configuration: one dataclass a Hydra group."""
