"""Other people's learners on our games, each run by a virtual environment of its own."""
