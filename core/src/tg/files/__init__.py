"""Model files: functions with their shared variables in one zip, whose arrays map into memory."""
