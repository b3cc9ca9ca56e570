"""The commands. Each is a frozen dataclass of settings with `run() -> exit code`.

Modules here import nothing heavy at their top, so that `lanista --help` answers at once.
"""
