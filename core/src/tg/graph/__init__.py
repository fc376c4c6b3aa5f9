"""The intermediate representation: variables and applies, ops, the value-numbered and the frozen graph."""
