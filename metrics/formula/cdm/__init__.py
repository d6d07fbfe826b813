"""CDM and the other scores of one pair of formulas."""
