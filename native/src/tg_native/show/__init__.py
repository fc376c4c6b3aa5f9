"""Display for people: generated code with their names and lines, and that compiling takes long."""
