"""Small changes of the core, one at a time, to see which of them no test notices: `make mutants`."""
