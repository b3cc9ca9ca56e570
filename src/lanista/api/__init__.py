"""What `import lanista` offers: functions and result types for scripts and notebooks.

Thin over what the commands use; `lanista/__init__.py` has the list of names.
"""
