"""Hydra's configuration tree, installed as `autotune.conf` and found as `pkg://autotune.conf`.

Only YAML lies here: `config.yaml` and one folder a group. The schema is `autotune.config`.
"""
