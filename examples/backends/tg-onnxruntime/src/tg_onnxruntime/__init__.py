"""The onnxruntime backend of tg: hooks only; onnx and onnxruntime are imported behind the strings and in the hooks."""

from tg.backend import Backend, RuleProtocol, Rules, hookimpl

PROTOCOL = RuleProtocol("array", 2)


@hookimpl
def tg_backends():
    """The one backend of this distribution, with the dtypes in which onnxruntime has most kernels."""
    return (
        Backend(
            "onnxruntime",
            distribution="tg-onnxruntime",
            requires=("onnx>=1.23", "onnxruntime>=1.32"),
            rules=PROTOCOL,
            dtypes=frozenset({"bool", "int32", "int64", "float32", "float64"}),
            linker="tg_onnxruntime.linker:LINKER",
            gaps="tg_onnxruntime.gaps:GAPS",
            priority=-1,
        ),
    )


@hookimpl
def tg_rules(backend):
    """The rules of the backend."""
    if backend != "onnxruntime":
        return None
    from tg_onnxruntime import elementwise, structure

    return Rules(PROTOCOL, {**elementwise.RULES, **structure.RULES})
