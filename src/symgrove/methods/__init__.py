"""Methods: one published algorithm a file, Grove a folder. They know no estimator."""
