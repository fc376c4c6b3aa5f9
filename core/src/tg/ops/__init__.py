"""The operations of tg, one record each, in families; a family's path is the same in every part of the project."""
