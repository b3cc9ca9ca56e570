"""Measures the processes that a test starts; every Python started with this folder on its path
imports this module first."""

import coverage

coverage.process_startup()
