"""How clients speak: one module for each protocol."""
