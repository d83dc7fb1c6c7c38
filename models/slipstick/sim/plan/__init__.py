"""Plans: what a simulation runs, as flat data; how they are built; the distributions of their random times."""
