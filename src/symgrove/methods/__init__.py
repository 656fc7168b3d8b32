"""Published methods, one a file: the algorithm and its scikit-learn faces."""
