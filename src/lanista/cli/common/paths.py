"""Whether a path that the user named can serve: what `lanista.output_paths` refuses."""

from lanista.output_paths import (
    refuse_file,
    refuse_unreachable,
    refuse_unwritable,
    refuse_unwritable_folder,
)

__all__ = ["refuse_file", "refuse_unreachable", "refuse_unwritable", "refuse_unwritable_folder"]
