"""What the decorators make, what its names mean, launching."""
