"""How fast models are trained, beside other ways to train the same."""
