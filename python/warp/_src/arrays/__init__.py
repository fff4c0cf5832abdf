"""`wp.array`, what makes and copies arrays, and what they show to other libraries."""
