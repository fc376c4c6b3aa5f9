"""The kernel language: functions of lanes, written once and printed by each backend in its own language."""
