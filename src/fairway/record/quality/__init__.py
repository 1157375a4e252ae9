"""How good a placement could have been: the problem as numbers, and an exact solver's answer."""
