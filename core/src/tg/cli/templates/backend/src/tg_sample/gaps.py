"""What the backend does not do, one entry for each case; the conformance suite holds it to that.

Such as `Gap(arithmetic.cbrt, frozenset({"float16"}), None, "upstream", NoRuleError, "the library has none of halves")`:
the op, its dtypes, a condition on its types, whether that can change, what is raised, why.
"""

GAPS = ()
