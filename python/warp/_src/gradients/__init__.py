"""Tapes, forward mode, checks of gradients."""
