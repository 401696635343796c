"""Train under assigned seeds: what a run is, how it is made, and how a study is resumed."""
