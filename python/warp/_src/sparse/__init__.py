"""Sparse matrices of blocks: their layout, how they are made of triplets, sums, products and copies."""
