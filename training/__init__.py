"""Self-play training for the environments of `noms_env`, and the `noms` command."""
