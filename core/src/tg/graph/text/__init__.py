"""The textual form of frozen graphs, printed and parsed to an equal graph: golden tests, bug reports, saved programs.

    tg 1
    graph(%0 x: float64[?, 3], %1: float64[]) {
      %2 = const float64[] 2.0
      %3 mu = multiply(%0, %2) : float64[?, 3]  # model.py:12 in build
      %4 = Reduce{fn=add, axes=(-1,)}(%3) : float64[?]
      check %5 shows (%6) BoundsError "index {0} is ..." hint "..."
      return %4
    }

Values are numbered; the name of one follows its number. Fields equal to their defaults are left out. A field holds a
literal as Python writes it, a string in double quotes, an elementwise function by its name, an op by its name and
braces (`exp{}`), or an inner graph by a name (`@g0`) that is defined above. What starts with `#` is a comment.
"""
