"""Games as trees of information states, and exact answers from them."""
