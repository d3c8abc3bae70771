"""How fast the trained model translates, beside other ways to run the same weights."""
