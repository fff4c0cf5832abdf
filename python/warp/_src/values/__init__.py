"""Types of the kernel language and their values in Python; builtins on them."""
