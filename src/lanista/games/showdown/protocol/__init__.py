"""What protocol lines and requests tell one player of a battle."""
