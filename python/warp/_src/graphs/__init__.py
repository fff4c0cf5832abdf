"""Work captured once and run again."""
