"""What holds for the whole process: flags, messages, exceptions, the kernel cache."""
