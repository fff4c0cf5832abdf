"""Work on whole arrays, made of kernels: `wp.map`, sums, sorting, matrix products."""
