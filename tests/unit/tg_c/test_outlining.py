"""Outlined functions: equal statements of loops are one, and what cannot be outlined stays in place."""

import tg
from tg_c.outlining import kinds_in, outlined

KINDS = {"x0": "const f32 *", "y1": "f32 *", "n2": "i64 ", "n7": "i64 "}
COPY = """\
    for (i64 {k} = 0; {k} < {n}; {k}++) {{
      const f32 *const {a} = x0 + {k};
      const f32 {b} = {a}[0];
      y1[0] = {b};
    }}"""


def lines(**names):
    return COPY.format(**names).split("\n")


def test_statements_that_differ_in_names_alone_are_one_function():
    first = outlined(lines(k="k3", n="n2", a="t4", b="t5"), KINDS)
    second = outlined(lines(k="k8", n="n7", a="t12", b="t31"), KINDS)
    assert first.text == second.text
    assert first.arguments == ("n2", "x0", "y1")
    assert second.arguments == ("n7", "x0", "y1")


def test_parameters_have_the_types_of_what_is_read():
    found = outlined(lines(k="k3", n="n2", a="t4", b="t5"), KINDS)
    assert found.text.startswith("(i64 p0, const f32 *p1, f32 *p2) {\n  for (")


def test_types_are_those_of_declarations():
    written = ["const f32 *const t3 = x0 + n2;", "  for (i64 k4 = 0; k4 < n2; k4 += 8) {", "f32x16 t5;", "t3[0] = t5;"]
    assert kinds_in(written) == {"t3": "const f32 *const ", "k4": "i64 ", "t5": "f32x16 "}


def test_what_changes_a_local_of_others_stays():
    kinds = {**KINDS, "t9": "i64 "}
    assert outlined(["const i64 t10 = t9 + 1;", "y1[t9] = t10;"], kinds) is not None
    assert outlined(["const i64 t10 = t9 + 1;", "t9 = t10;"], kinds) is None
    assert outlined(["tg_made(n2, &t9);"], kinds) is None


def test_what_reads_a_local_of_unknown_type_stays():
    assert outlined(["y1[0] = t9;"], KINDS) is None


def test_convolutions_with_other_epilogues_have_pieces_in_common():
    x = tg.tensor("x", "float32", (2, 8, 9, 9))
    w = [tg.tensor(f"w{k}", "float32", (8, 8, 3, 3)) for k in range(3)]
    y = tg.relu(tg.nn.conv2d(x, w[0], padding=1))
    z = tg.exp(tg.nn.conv2d(y, w[1], padding=1) * 0.1)
    f = tg.function([x, *w], tg.nn.conv2d(z, w[2], padding=1), backend="c")
    assert f.source(full=True).count(" tg_held_images_") == 1 + 3, "one function, which each convolution calls"
