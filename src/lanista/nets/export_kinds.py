"""What an export may replace: a file of its own kind, or nothing. Loads no torch."""

from lanista.files import Kind

_MOST_BYTES = 1 << 31
NEW = Kind("a new file")
ONNX = Kind("a policy that `lanista export` wrote", rb"(?s)^\x08.*lanista_policy", _MOST_BYTES)
