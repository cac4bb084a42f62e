"""The command line: flags, composition through Hydra, one line for every mistake, one exit status."""
