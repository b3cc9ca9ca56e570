"""Why a live bot does not improve: evidence, findings, drift."""
