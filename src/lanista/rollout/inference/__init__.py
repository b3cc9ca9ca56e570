"""Networks that act: actors, batched opponents, one inference server for many workers."""
