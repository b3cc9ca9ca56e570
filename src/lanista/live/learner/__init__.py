"""The background learner: takes games in, learns, and keeps its ledger."""
