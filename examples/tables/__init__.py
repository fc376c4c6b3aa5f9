"""The tables of the jobs: one function for each, what a row says of a run and whether its numbers are right."""
