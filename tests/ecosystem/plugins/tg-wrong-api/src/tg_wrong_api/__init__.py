"""A plugin for hooks that do not exist yet; importing it would be a mistake."""

text = "tg-wrong-api is not to be imported"
raise RuntimeError(text)
