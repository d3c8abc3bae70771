"""Work on the shards of a corpus, by this machine's cores or by a cluster."""
