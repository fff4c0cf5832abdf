"""What calls and conversions cost."""
