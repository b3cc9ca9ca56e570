"""What a package adds to Lanista. Loads no torch: settings are read from here."""

from lanista.learn.term_table import Regulariser
from lanista.nets.torso_table import TorsoKind

HELLINGER = Regulariser(
    "Hellinger distance to a snapshot of itself, renewed every `reference_every` updates",
    "lanista_extension.terms:hellinger",
    reads=("reference",),
)
GATED = TorsoKind(
    "layers whose outputs are gated",
    "lanista_extension.torso:Gated",
    sizes={"s": (96, 2), "m": (192, 2), "l": (384, 2), "xl": (768, 3)},
    tensors="lanista_extension.torso_shapes:gated",
)
