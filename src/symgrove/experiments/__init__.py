"""Studies: data sets, runs, statistics, tables and figures of the paper, and of anyone's own data and methods."""
