"""A plugin that cannot be imported."""

text = "tg-broken was written to fail"
raise RuntimeError(text)
