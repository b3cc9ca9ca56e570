"""Trains agents for competitive games, and says honestly how strong they are."""

from lanista.moved_modules import install as _install_old_paths

__version__ = "0.1.0"

_install_old_paths()
