"""Policies where torch is not: NumPy alone, ONNX Runtime, and the export that proves them equal."""

from lanista.nets.portable.runtime import PortablePolicy as PortablePolicy
from lanista.nets.portable.runtime import load_portable as load_portable
