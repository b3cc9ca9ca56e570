"""Six games in Python with three hooks each, as a user writes them; nothing is tuned for them."""
