"""Board games in which seats do not see each other's marks, for exact best responses."""
