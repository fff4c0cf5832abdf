"""What programs see: names, module paths, start-up; and where the rooms are joined."""
